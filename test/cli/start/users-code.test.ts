import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { spawn } from '@lydell/node-pty'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { decodeCode, encodeCode } from '../../../src/cli/start/code-file.ts'
import { openStore } from '../../../src/stores/open.ts'
import { type Built, build } from './built.ts'

/** The command as it is installed: without code that was compiled at build time. */
let built: Built
let db: string
let folder: string
let file: string

beforeAll(async () => {
  built = await build()
  db = join(built.place, 'conversations.db')
  await using store = await openStore(db)
  const { branch } = await store.create({ title: 'A bridge', directory: built.cwd })
  await store.append(branch, null, [{ role: 'user', content: 'Which bridge is the longest?' }])
  folder = join(built.env.HOME!, '.cache/skein')
  file = join(folder, built.code.slice(built.folder.length + 1))
  rmSync(built.code)
})
afterAll(() => built[Symbol.dispose]())
beforeEach(() => rmSync(folder, { recursive: true, force: true }))

const list = () => built.run(['ls', '--db', db])
const kept = () => decodeCode(readFileSync(file))

function withWrongBit(bytes: Buffer, at: number): Buffer {
  bytes[at]! ^= 1
  return bytes
}

describe('an installed command', () => {
  it('keeps the code that V8 has compiled, and starts from it', () => {
    const first = list()
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(first.stdout).toContain('A bridge')
    expect(kept()).toMatchObject({ commands: ['ls'] })
    expect([...kept()!.scripts.keys()]).toEqual(['main.cjs'])
    expect([statSync(folder).mode & 0o777, statSync(file).mode & 0o777]).toEqual([0o700, 0o600])
    const written = statSync(file)
    expect(list()).toMatchObject({ code: 0, stderr: '', stdout: first.stdout })
    // A file that V8 refuses, or that lacks a script, is written again.
    expect(statSync(file)).toMatchObject({ ino: written.ino, mtimeMs: written.mtimeMs })
    expect(readdirSync(folder)).toHaveLength(1)
  })

  it('adds the code of other commands', () => {
    list()
    expect(built.run(['show', '--db', db]).code).toBe(0)
    expect(built.run(['-m', 'scripted', '--db', db, 'hello']).code).toBe(0)
    list()
    expect(kept()!.commands).toEqual(['ls', 'show', 'prompt'])
    const names = [...kept()!.scripts.keys()]
    expect(names).toContain('main.cjs')
    expect(names.some(name => name.startsWith('ask-'))).toBe(true)
  })

  it('has the code of each form of the output', async () => {
    list()
    const { cwd, env, entry } = built
    const child = spawn(process.execPath, [entry, 'ls', '--db', db], { cwd, env })
    const { exitCode } = await new Promise<{ exitCode: number }>(resolve => child.onExit(resolve))
    expect(exitCode).toBe(0)
    expect(kept()!.commands).toEqual(['ls', 'ls on a terminal'])
  })

  it.each([
    ['is cut off', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
    ['is empty', () => Buffer.alloc(0)],
    ['has zeros at its end', (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc(4_096)])],
    ['has a wrong bit in its code', (bytes: Buffer) => withWrongBit(bytes, 50_000)],
    ['has a wrong bit in its list', (bytes: Buffer) => withWrongBit(bytes, bytes.lastIndexOf('main.cjs'))],
  ])('ignores a file that %s, and replaces it', (_, change) => {
    const { stdout } = list()
    writeFileSync(file, change(readFileSync(file)))
    const { ino } = statSync(file)
    expect(list()).toMatchObject({ code: 0, stderr: '', stdout })
    expect(statSync(file).ino).not.toBe(ino)
    expect(kept()).toMatchObject({ commands: ['ls'] })
    expect(list()).toMatchObject({ code: 0, stderr: '', stdout })
  })

  it('leaves a file alone that V8 refuses, which may be of other settings', () => {
    const { stdout } = list()
    const { commands, scripts } = kept()!
    const other = Buffer.from(scripts.get('main.cjs')!)
    other.writeUInt32LE(0xdeadbeef, 4)
    const refused = encodeCode({ commands, scripts: new Map([['main.cjs', other]]) })
    writeFileSync(file, refused)
    expect(list()).toMatchObject({ code: 0, stderr: '', stdout })
    expect(readFileSync(file).equals(refused)).toBe(true)
  })

  it('does not run a file that others may write', () => {
    const { stdout } = list()
    const { commands, scripts } = kept()!
    const mark = ['another.cjs', Buffer.alloc(8)] as const
    writeFileSync(file, encodeCode({ commands, scripts: new Map([...scripts, mark]) }))
    // Control: its own file is used as it is.
    expect(list()).toMatchObject({ code: 0, stdout })
    expect([...kept()!.scripts.keys()]).toEqual(['main.cjs', 'another.cjs'])
    chmodSync(file, 0o620)
    expect(list()).toMatchObject({ code: 0, stdout })
    expect([...kept()!.scripts.keys()]).toEqual(['main.cjs'])
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  it('works without a folder for it', () => {
    const run = (env: NodeJS.ProcessEnv) =>
      spawnSync(process.execPath, [built.entry, 'ls', '--db', db], { cwd: built.cwd, env, encoding: 'utf8' })
    const { stdout } = list()
    rmSync(folder, { recursive: true })
    // A file where the folder should be.
    writeFileSync(folder, '')
    expect(run(built.env)).toMatchObject({ status: 0, stderr: '', stdout })
    expect(run({ ...built.env, HOME: 'relative' })).toMatchObject({ status: 0, stdout })
    expect(existsSync(join(built.cwd, 'relative'))).toBe(false)
    const elsewhere = join(built.place, 'cache')
    expect(run({ ...built.env, XDG_CACHE_HOME: elsewhere })).toMatchObject({ status: 0, stderr: '', stdout })
    expect(readdirSync(join(elsewhere, 'skein'))).toHaveLength(1)
  })

  it('removes files that were not used for a month', () => {
    mkdirSync(folder, { recursive: true })
    const [old, recent] = [join(folder, 'code-old'), join(folder, 'code-recent')]
    for (const path of [old, recent]) writeFileSync(path, '')
    utimesSync(old, 0, 0)
    list()
    expect([existsSync(old), existsSync(recent)]).toEqual([false, true])
  })

  it('keeps nothing in incognito mode, with --debug, or of a wrong command (S3-54)', () => {
    for (const words of [
      ['-G', '-m', 'scripted', 'hello'],
      ['ls', '--debug', '--db', db],
      ['ls', '--wrong'],
    ])
      built.run(words)
    expect(existsSync(folder)).toBe(false)
  })
})
