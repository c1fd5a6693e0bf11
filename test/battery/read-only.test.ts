import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { dataFile } from '../cli/running.ts'
import { commandLine, type Ended, type Home, home } from '../cli/skein.ts'
import { note } from './note.ts'
import { size } from './size.ts'

/** The command on a read-only store. Root may write everything, so the command runs as the user `nobody`. The
 *  methods of a store are tested in `test/stores/sqlite/files.test.ts`. */
const isRoot = process.getuid?.() === 0
const asUnprivileged = join(import.meta.dirname, '../cli/as-unprivileged.ts')

async function bound(here: Home, args: readonly string[]): Promise<Ended> {
  const [file, argv] = isRoot ? [process.execPath, [asUnprivileged, ...args]] : commandLine(args)
  const child = spawn(file, argv, { cwd: here.cwd, env: here.env, stdio: ['ignore', 'pipe', 'pipe'] })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', chunk => {
    stdout += chunk
  })
  child.stderr.setEncoding('utf8').on('data', chunk => {
    stderr += chunk
  })
  const [code] = await once(child, 'close')
  return { stdout, stderr, code }
}

/** Makes the folders from the root down to the store readable, but not writable, for all users. */
function forbidWriting(here: Home, mode: { file: number; folder: number }): () => void {
  const place = dirname(here.cwd)
  const store = dirname(dataFile(here))
  const between = relative(place, store).split('/')
  for (const [i] of between.entries()) chmodSync(join(place, ...between.slice(0, i)), 0o755)
  for (const name of readdirSync(store)) chmodSync(join(store, name), mode.file)
  chmodSync(store, mode.folder)
  for (const folder of [here.cwd, here.env.XDG_CONFIG_HOME!]) chmodSync(folder, 0o755)
  return () => chmodSync(store, 0o700)
}

const bytesOf = (here: Home) => readFileSync(dataFile(here)).toString('base64')

const cases: [what: string, mode: { file: number; folder: number }][] = [
  ['folder and its file', { file: 0o444, folder: 0o555 }],
  ['file', { file: 0o444, folder: 0o777 }],
]

describe.each(size({ gate: cases.slice(0, 1), full: cases }))('a store whose %s is read-only', (_, mode) => {
  it('can be listed, shown, searched and exported, and refuses a write in one line (R5)', {
    timeout: 120_000,
  }, async () => {
    using here = home()
    const told = await here.skein(['--json', 'my name is Ishmael'])
    const { conversation } = JSON.parse(told.stdout)
    await here.skein(['search', 'Ishmael'])
    const allow = forbidWriting(here, mode)
    const before = bytesOf(here)
    const reading = [
      ['ls', '--json'],
      ['show', conversation],
      ['search', 'Ishmael'],
      ['export', conversation],
    ]
    const rename = ['rename', conversation, 'The Whale']
    // A prompt is answered all the same; giving up on storing it takes a while.
    const writing = size({ gate: [rename], full: [rename, ['rm', '--yes', conversation], ['hello']] })
    const [reads, writes] = await Promise.all([
      inTurn(reading, args => bound(here, args)),
      inTurn(writing, args => bound(here, args)),
    ])
    for (const [i, { code, stdout, stderr }] of reads.entries()) {
      expect({ code, stderr }, reading[i]!.join(' ')).toEqual({ code: 0, stderr: '' })
      expect(stdout, reading[i]!.join(' ')).toContain(i === 0 ? conversation : 'Ishmael')
    }
    for (const [i, { code, stdout, stderr }] of writes.entries()) {
      expect(code, writing[i]!.join(' ')).toBe(1)
      if (writing[i]![0] !== 'hello') {
        expect(stdout).toBe('')
        expect(stderr).toMatch(/^skein: the store is read-only: \S+\.db\. \S+ belongs to another user\n$/)
      } else expect(stderr).toMatch(/store is read-only[\s\S]*! 2 messages could not be saved:/)
    }
    expect(bytesOf(here)).toBe(before)
    allow()
    note('reads that work', reading.length)
    note('writes refused', writing.length)
  })
})

it.runIf(isRoot)('control: root can write to it, whatever the modes are', { timeout: 60_000 }, async () => {
  using here = home()
  const told = await here.skein(['--json', 'my name is Ishmael'])
  forbidWriting(here, { file: 0o444, folder: 0o555 })
  const { conversation } = JSON.parse(told.stdout)
  expect(await here.skein(['rename', conversation, 'The Whale'])).toMatchObject({ code: 0 })
})

async function inTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = []
  for (const item of items) results.push(await work(item))
  return results
}
