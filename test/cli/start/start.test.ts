import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import BetterSqlite3 from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeCode, encodeCode } from '../../../src/cli/start/code-file.ts'
import { openStore } from '../../../src/stores/open.ts'
import type { Run } from '../../support/witness.ts'
import { sourceCommand } from '../built-command.ts'
import { type Built, build } from './built.ts'

let built: Built
let conversation: string
let db: string

beforeAll(async () => {
  built = await build()
  db = join(built.place, 'conversations.db')
  await using store = await openStore(db)
  const made = await store.create({ title: 'A bridge', directory: built.cwd })
  conversation = made.conversation.id
  await store.append(made.branch, null, [
    { role: 'user', content: [{ type: 'text', text: 'Which bridge is the longest?' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'The bridge at Danyang … 丹昆特大桥' }] },
  ])
})
afterAll(() => built[Symbol.dispose]())

const looks = () =>
  [['ls'], ['show', conversation], ['search', 'bridge']].map(words => [...words, '--db', db])

describe('the built ls, show and search', () => {
  it('print the same as from source', () => {
    for (const words of looks()) {
      const env = { ...built.env, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }
      const source = spawnSync(process.execPath, [sourceCommand, ...words], {
        cwd: built.cwd,
        env,
        encoding: 'utf8',
      })
      const { stdout, stderr, code } = built.run(words)
      expect({ stdout, stderr, code }).toEqual({ stdout: source.stdout, stderr: '', code: 0 })
      expect(stdout).toMatch(/bridge/)
    }
  })

  it('load no package and no slow module of Node, even with a skein.yaml', () => {
    writeFileSync(join(built.cwd, 'skein.yaml'), 'model: scripted\n')
    for (const words of looks()) {
      const ran = built.run(words)
      expect(ran.code).toBe(0)
      expect(namesOf(ran)).toEqual(['skein.cjs', 'main.cjs'])
      const costly = /(net|tty|stream|crypto|child_process|perf_hooks|zlib|http|dgram|url)$/
      expect(ran.builtins.filter(name => /NativeModule /.test(name) && costly.test(name))).toEqual([])
    }
    unlinkSync(join(built.cwd, 'skein.yaml'))
    // Control: a command that needs more loads more.
    const config = built.run(['config', '--db', db])
    expect(namesOf(config).some(name => name.startsWith('config-'))).toBe(true)
    const asked = built.run(['-G', '-m', 'scripted', 'hello'])
    expect(namesOf(asked).some(name => name.startsWith('ask-'))).toBe(true)
    expect(asked.builtins.join()).toMatch(/NativeModule net,/)
  })

  it('create the patterns of the Markdown parser only if there is Markdown to parse', () => {
    const preload = join(built.place, 'count-patterns.cjs')
    writeFileSync(
      preload,
      `let count = 0
      globalThis.RegExp = new Proxy(RegExp, { construct: (made, args) => (count++, new made(...args)) })
      process.on('exit', () => process.stderr.write('patterns ' + count))`,
    )
    const patterns = (...words: string[]) => {
      const args = ['--require', preload, built.entry, ...words, '--db', db]
      const { stderr } = spawnSync(process.execPath, args, {
        cwd: built.cwd,
        env: built.env,
        encoding: 'utf8',
      })
      return Number(/^patterns (\d+)$/.exec(stderr)?.[1])
    }
    expect(patterns('ls')).toBeLessThan(10)
    expect(patterns('show', conversation)).toBeLessThan(10)
    // Control.
    expect(patterns('export', conversation, '--html', '-o', '-')).toBeGreaterThan(40)
  })

  it('do not wait for a writer', () => {
    const expected = looks().map(words => built.run(words).stdout)
    const [writer, second] = [new BetterSqlite3(db), new BetterSqlite3(db, { timeout: 0 })]
    try {
      // The lock is held while they run: a waiting command would fail after some seconds.
      writer.exec('BEGIN IMMEDIATE')
      writer.exec(`UPDATE skein_conversations SET title = 'Another title'`)
      expect(() => second.exec('BEGIN IMMEDIATE')).toThrow(/locked/)
      expect(looks().map(words => built.run(words).stdout)).toEqual(expected)
      writer.exec('ROLLBACK')
    } finally {
      writer.close()
      second.close()
    }
  })

  it('run the code that V8 compiled at build time', () => {
    expect(refused(readFileSync(built.code))).toEqual([])
    const names = [...decodeCode(readFileSync(built.code))!.scripts.keys()]
    expect(names).toContain('main.cjs')
    expect(names.some(name => name.startsWith('ask-'))).toBe(true)
    expect(readFileSync(join(built.folder, 'main.cjs'), 'latin1')).toMatch(/^[\n\r\t -~]*$/)
  })

  it('run without that code, or with the code of another V8', () => {
    const [kept, words] = [readFileSync(built.code), looks()[0]!]
    const expected = built.run(words).stdout
    const { scripts } = decodeCode(kept)!
    const foreign = new Map(
      Array.from(scripts, ([name, code]) => {
        const other = Buffer.from(code)
        other.writeUInt32LE(0xdeadbeef, 4)
        return [name, other]
      }),
    )
    writeFileSync(built.code, encodeCode({ commands: [], scripts: foreign }))
    expect(refused(readFileSync(built.code))).toEqual([...scripts.keys()])
    expect(built.run(words)).toMatchObject({ stdout: expected, stderr: '', code: 0 })
    rmSync(built.code)
    expect(built.run(words)).toMatchObject({ stdout: expected, stderr: '', code: 0 })
    writeFileSync(built.code, kept)
  })

  it('import packages through one file, which Node loads', () => {
    const importing = readdirSync(built.folder)
      .filter(name => name.endsWith('.cjs'))
      .filter(name => /\bimport\s*\(/.test(readFileSync(join(built.folder, name), 'utf8')))
    expect(importing).toEqual(['import.cjs', 'skein.cjs'])
    const found = built.run(['config', 'set', 'model', 'scripted', '--user'])
    expect(found.code).toBe(0)
    expect(found.stderr).toMatch(/^model is scripted [^\n]*\n$/)
    expect(namesOf(found)).toContain('import.cjs')
  })

  it('print source positions with --debug', () => {
    const { stderr, code } = built.run(['show', 'q2w6nb', '--debug', '--db', db])
    expect(code).toBe(3)
    expect(stderr).toMatch(/at \S+ \(.*src\/cli\/target\/find-named\.ts:\d+:\d+\)/)
  })

  it('let another version of better-sqlite3 load itself', () => {
    const other = join(built.place, 'other')
    const [folder, real] = [
      join(other, 'node_modules/better-sqlite3'),
      join(built.place, 'node_modules/better-sqlite3'),
    ]
    mkdirSync(folder, { recursive: true })
    for (const part of ['lib', 'prebuilds']) symlinkSync(join(real, part), join(folder, part))
    const manifest = readFileSync(join(real, 'package.json'), 'utf8')
    writeFileSync(
      join(folder, 'package.json'),
      manifest.replace(/"version": "[^"]+"/, '"version": "13.99.0"'),
    )
    cpSync(join(built.place, 'dist'), join(other, 'dist'), { recursive: true })
    const run = spawnSync(process.execPath, [join(other, 'dist/cli/skein.cjs'), ...looks()[0]!], {
      cwd: built.cwd,
      env: { ...built.env, NODE_DEBUG: 'module' },
      encoding: 'utf8',
    })
    expect(run.stdout).toBe(built.run(looks()[0]!).stdout)
    expect(run.stderr).toMatch(/better-sqlite3\/lib\/binding\.js/)
  })
})

describe.runIf(existsSync('/usr/bin/strace'))('the built incognito prompt', () => {
  it('opens no file of a store and writes no file (S3-54)', () => {
    const calls = ['-f', '-qq', '-e', 'trace=openat,open,creat,mkdir,mkdirat,unlink,unlinkat,rename']
    const args = [process.execPath, built.entry, '-G', '-m', 'scripted', 'hello']
    const run = spawnSync('/usr/bin/strace', [...calls, ...args], {
      cwd: built.cwd,
      env: built.env,
      encoding: 'utf8',
    })
    expect(run.stdout).toContain('Hello!')
    const lines = run.stderr.split('\n')
    expect(lines.some(line => line.includes('main.cjs'))).toBe(true)
    expect(lines.filter(line => /better-sqlite3|conversations\.db/.test(line))).toEqual([])
    expect(
      lines.filter(line => /O_CREAT|O_WRONLY|O_RDWR|mkdir/.test(line) && !/"\/(dev|proc)\//.test(line)),
    ).toEqual([])
  })
})

function namesOf({ files }: Run): readonly string[] {
  return files.map(url => basename(fileURLToPath(url)))
}

/** The scripts whose code V8 does not accept, in a process that is started like the command. */
function refused(code: Buffer): readonly string[] {
  const file = join(built.place, 'code-to-check')
  writeFileSync(file, code)
  const script = `
    import { readFileSync } from 'node:fs'
    import { decodeCode } from ${JSON.stringify(import.meta.resolve('../../../src/cli/start/code-file.ts'))}
    import { compileFile } from ${JSON.stringify(import.meta.resolve('../../../src/cli/start/run-bundle.ts'))}
    const { scripts } = decodeCode(readFileSync(${JSON.stringify(file)}))
    const isRefused = ([name, code]) =>
      compileFile(${JSON.stringify(built.folder)}, name, code).cachedDataRejected
    console.log(JSON.stringify([...scripts].filter(isRefused).map(([name]) => name)))`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    env: built.env,
    encoding: 'utf8',
  })
  if (stderr !== '') throw new Error(stderr)
  return JSON.parse(stdout) as string[]
}
