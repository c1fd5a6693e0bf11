import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { parseAst } from 'rolldown/parseAst'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundleLibrary, type LibraryFile } from '../scripts/build/library.ts'
import { bundleVendor } from '../scripts/build/vendor.ts'
import { freshDatabase } from './stores/postgres/database.ts'
import { strangeEnvironment } from './support/place.ts'
import { type Run, runWithWitness } from './support/witness.ts'

const root = join(import.meta.dirname, '..')

// The library as it is packed: programs in `place` import `skein` and get the bundle in `place/dist`.
const place = mkdtempSync(join(tmpdir(), 'skein-library-'))
const dist = join(place, 'dist')
const { NODE_OPTIONS: _, NODE_COMPILE_CACHE: __, ...variables } = process.env
const env = strangeEnvironment(place, variables)
let bundled: readonly LibraryFile[]
let files: readonly string[]

beforeAll(async () => {
  copyFileSync(join(root, 'package.json'), join(place, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'))
  bundled = await bundleLibrary(dist)
  await bundleVendor(join(dist, 'vendor'))
  files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.js'))
})
afterAll(() => rmSync(place, { recursive: true, force: true }))

/** Runs a module with this code. */
function run(code: string): Run {
  const program = join(place, 'program.mjs')
  writeFileSync(program, code)
  return runWithWitness([program], { place, cwd: place, env })
}

/** The files that a run loaded, without its program, relative to the package. */
function loaded({ files }: Run): readonly string[] {
  return files.map(url => relative(place, fileURLToPath(url))).filter(name => name !== 'program.mjs')
}

describe('the bundled entry points', () => {
  it('contain every module once', () => {
    const places = new Map<string, string[]>()
    for (const { name, modules } of bundled) {
      for (const module of modules.filter(path => path.endsWith('.ts')))
        places.set(module, [...(places.get(module) ?? []), name])
    }
    expect(places.size).toBeGreaterThan(200)
    expect([...places].filter(([, found]) => found.length > 1)).toEqual([])
  })

  it('are where the package has them, and share one class per error', () => {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      exports: Record<string, string>
    }
    const entries = Object.values(manifest.exports).filter(path => path.endsWith('.js'))
    expect(files).toEqual(expect.arrayContaining(entries.map(path => path.replace('./dist/', ''))))
    const { stdout, stderr } = run(`
      import { conversationId, InvalidError, openStore, SkeinError } from 'skein'
      import { tool } from 'skein/agent'
      import { fit } from 'skein/context'
      import { openSqliteStore } from 'skein/sqlite'
      import { openPostgresStore } from 'skein/postgres'
      import { z } from 'zod'
      const caught = []
      for (const attempt of [
        () => conversationId('x'),
        () => openStore('http://example.org'),
        () => openSqliteStore('http://example.org'),
        () => openPostgresStore('http://example.org'),
        () => tool({ description: 'x', input: z.string(), run: () => 1 }),
      ]) {
        try {
          await attempt()
        } catch (error) {
          caught.push([error instanceof InvalidError, error instanceof SkeinError, error.name])
        }
      }
      console.log(JSON.stringify(caught))`)
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual(Array.from({ length: 5 }, () => [true, true, 'InvalidError']))
  })

  it('load few files, no package and no slow module of Node', () => {
    const costly = /(net|tty|stream|crypto|child_process|perf_hooks|zlib|http|dgram|fs\/promises|os|report)$/
    for (const [name, most] of [
      ['skein', 2],
      ['skein/sqlite', 5],
      ['skein/models', 3],
      ['skein/recorder', 3],
      ['skein/agent', 6],
      ['skein/acp', 6],
    ] as const) {
      const ran = run(`import '${name}'`)
      expect(ran).toMatchObject({ code: 0, stderr: '' })
      expect(loaded(ran).length, name).toBeLessThanOrEqual(most)
      expect(loaded(ran).filter(file => !file.startsWith('dist/'))).toEqual([])
      const native = ran.builtins.filter(builtin => builtin.startsWith('NativeModule '))
      expect(
        native.filter(builtin => costly.test(builtin)),
        name,
      ).toEqual([])
    }
  })

  it('open a store with one script of better-sqlite3: its class of errors, which the program may know', () => {
    const ran = run(`
      import { openStore } from 'skein'
      const store = await openStore('./conversations.db')
      const { branch } = await store.create({})
      const { head } = await store.append(branch, null, [{ role: 'user', content: 'hello' }])
      console.log((await store.tail(head, { tokens: 100 })).messages.length)
      await store.close()`)
    expect(ran).toMatchObject({ code: 0, stdout: '1\n', stderr: '' })
    const scripts = loaded(ran).filter(file => file.includes('better-sqlite3'))
    expect(scripts.map(file => basename(file))).toEqual(['sqlite-error.js'])
    const shared = run(`
      import { openStore } from 'skein'
      import Database from 'better-sqlite3'
      const store = await openStore(':memory:')
      try {
        new Database(':memory:').exec('nonsense')
      } catch (error) {
        console.log(error instanceof Database.SqliteError, error.code)
      }
      await store.close()`)
    expect(shared).toMatchObject({ code: 0, stdout: 'true SQLITE_ERROR\n', stderr: '' })
  })

  it('store and read a message with the files that this needs', () => {
    const ran = run(`
      import { openStore } from 'skein'
      const store = await openStore('./few-files.db')
      const { branch } = await store.findOrCreate('key')
      const { head } = await store.append(branch, null, [{ role: 'user', content: 'hello' }])
      await store.tail(head, { tokens: 100 })
      await store.updateConversation(branch.conversationId, { title: 'Hello' })
      await store.close()`)
    expect(ran).toMatchObject({ code: 0, stdout: '', stderr: '' })
    expect(loaded(ran).map(file => basename(file))).toEqual([
      ...[
        'index.js',
        'core.js',
        'index.js',
        'sqlite.js',
        'stores.js',
        'store-with-hub.js',
        'sqlite-error.js',
      ],
    ])
    // Control: other methods load their files.
    const more = run(`
      import { openStore } from 'skein'
      const store = await openStore('./few-files.db')
      await store.listBranches((await store.findByKey('key')).conversation.id)
      await store.listConversations()
      await store.listTasks()
      await store.close()`)
    const parts = loaded(more).map(file => basename(file))
    expect(parts).toEqual(expect.arrayContaining(['turn-methods.js', 'manage-methods.js', 'tasks.js']))
  })

  it.each([
    { engine: 'SQLite', from: 'skein/sqlite', open: 'openSqliteStore', url: async () => './turn.db' },
    { engine: 'PostgreSQL', from: 'skein/postgres', open: 'openPostgresStore', url: freshDatabase },
  ])('load the methods that end a turn when it begins, on $engine', async ({ from, open, url }) => {
    const target = await url()
    const append = (content: string) =>
      run(`
        import { ${open} } from '${from}'
        const store = await ${open}(${JSON.stringify(target)})
        const { branch } = await store.create({})
        const holder = { host: 'a', boot: 'b', pid: 1, startedAt: 1 }
        const turn = { key: 'turn', step: 0, status: 'open', holder }
        await store.append(branch, null, [{ role: 'user', content: ${content} }], { turn })
        await store.close()`)
    for (const content of [`'hello'`, `'long '.repeat(400_000)`]) {
      const ran = append(content)
      expect(ran).toMatchObject({ code: 0, stdout: '', stderr: '' })
      expect(loaded(ran).map(file => basename(file))).toContain('turn-methods.js')
    }
  })

  it('keep the order of calls that load a file, and close after them', () => {
    const { stdout, stderr } = run(`
      import { openStore } from 'skein'
      const first = await openStore('./order.db')
      const { branch, conversation } = await first.create({})
      const messages = [{ role: 'user', content: 'hello' }]
      const renamed = { ...branch, name: 'renamed' }
      // Each call needs the effect of the one before.
      const calls = [
        first.renameBranch(branch, 'renamed'),
        first.append(renamed, null, messages),
        first.trash(conversation.id),
        first.append(renamed, null, messages),
        first.restore(conversation.id),
        first.close(),
      ]
      const outcomes = await Promise.allSettled(calls)
      const second = await openStore('./order.db')
      const { head } = await second.getBranch(renamed)
      console.log(outcomes.map(({ reason }) => reason?.code ?? 'ok').join(), head === outcomes[1].value.head)
      await second.close()`)
    expect(stderr).toBe('')
    expect(stdout).toBe('ok,ok,ok,not_found,ok,ok true\n')
  })

  it('run every call at once on a borrowed handle, and on an engine of the caller', () => {
    const { stdout, stderr } = run(`
      import Database from 'better-sqlite3'
      import { sqliteStore } from 'skein/sqlite'
      import { storeOver } from 'skein/driver'
      const db = new Database(':memory:')
      const store = await sqliteStore(db)
      const { conversation } = await store.create({})
      db.exec('BEGIN')
      const made = store.createBranch(conversation.id, null, { name: 'inside' })
      db.exec('ROLLBACK')
      await made
      console.log((await store.listBranches(conversation.id)).items.map(({ name }) => name).join())
      const calls = []
      const note = name => async () => void calls.push(name)
      const engine = { query: note('query'), read: note('read'), write: note('write'), source: { now: () => 0 } }
      const own = storeOver(engine, async () => 1)
      void own.listConversations()
      void own.deleteBranch({ conversationId: conversation.id, name: 'main' })
      void own.countTasks()
      console.log(calls.join())`)
    expect(stderr).toBe('')
    expect(stdout).toBe('main\nquery,write,query\n')
  })

  it('share no literal pattern with Unicode classes, which V8 looks up when it reads the file', () => {
    const literals = (node: unknown): readonly string[] => {
      if (typeof node !== 'object' || node === null) return []
      const { regex } = node as { readonly regex?: { readonly pattern: string } }
      return regex?.pattern.includes('\\p{') ? [regex.pattern] : Object.values(node).flatMap(literals)
    }
    for (const { name } of bundled.filter(file => file.name.startsWith('shared/')))
      expect(literals(parseAst(readFileSync(join(dist, name), 'utf8'))), name).toEqual([])
    expect(literals(parseAst('const word = /\\p{L}/u'))).toEqual(['\\p{L}'])
  })

  it('store and read a message without modules of Node that they do not need', () => {
    const ran = run(`
      import { openStore } from 'skein'
      const store = await openStore('./few-modules.db')
      const { branch } = await store.create({})
      const { head } = await store.append(branch, null, [{ role: 'user', content: 'hello' }])
      if ((await store.tail(head, { tokens: 100 })).messages.length !== 1) throw new Error('not stored')
      await store.close()`)
    expect(ran).toMatchObject({ code: 0, stdout: '', stderr: '' })
    const costly = /(child_process|worker|perf_hooks|zlib|net|fs\/promises|os)$/
    expect(ran.builtins.filter(name => name.startsWith('NativeModule ') && costly.test(name))).toEqual([])
  })

  it('resume a conversation with the first files of a store, and without the crypto of Node', () => {
    const resume = `
      import { openStore } from 'skein'
      const store = await openStore('./resumed.db')
      const { branch, created } = await store.findOrCreate('key')
      const { head } = await store.getBranch(branch)
      const { messages } = head ? await store.tail(head, { tokens: 100 }) : { messages: [] }
      if (created) await store.append(branch, head, [{ role: 'user', content: 'hello' }])
      console.log(messages.length)
      await store.close()`
    const usesCrypto = ({ builtins }: Run) => builtins.some(name => name.includes('internal/crypto/'))
    const [first, second] = [run(resume), run(resume)]
    expect(first).toMatchObject({ code: 0, stdout: '0\n', stderr: '' })
    expect(second).toMatchObject({ code: 0, stdout: '1\n', stderr: '' })
    expect(loaded(second).map(file => basename(file))).not.toContain('turn-methods.js')
    // Control: a new conversation needs an id, and its message a hash.
    expect([usesCrypto(first), usesCrypto(second)]).toEqual([true, false])
  })

  it('use the installed better-sqlite3 if it is another version', () => {
    const other = join(place, 'other')
    const [folder, real] = [
      join(other, 'node_modules/better-sqlite3'),
      join(root, 'node_modules/better-sqlite3'),
    ]
    mkdirSync(folder, { recursive: true })
    for (const part of ['lib', 'prebuilds']) symlinkSync(join(real, part), join(folder, part))
    const manifest = readFileSync(join(real, 'package.json'), 'utf8')
    writeFileSync(
      join(folder, 'package.json'),
      manifest.replace(/"version": "[^"]+"/, '"version": "13.99.0"'),
    )
    copyFileSync(join(root, 'package.json'), join(other, 'package.json'))
    symlinkSync(dist, join(other, 'dist'))
    const program = join(other, 'program.mjs')
    writeFileSync(
      program,
      `import { openStore } from 'skein'
      await (await openStore(':memory:')).close()`,
    )
    const ran = spawnSync(process.execPath, ['--preserve-symlinks', program], {
      cwd: other,
      env: { ...env, NODE_DEBUG: 'module' },
      encoding: 'utf8',
    })
    expect(ran.status).toBe(0)
    expect(ran.stderr).toMatch(/better-sqlite3\/lib\/binding\.js/)
  })

  it('keep the names of functions in stack traces', () => {
    const { stderr } = run(`
      import { conversationId } from 'skein'
      conversationId('nonsense')`)
    expect(stderr).toMatch(/InvalidError: .*\n +at conversationId \(/)
  })

  it('leave out of another bundle what it does not use', async () => {
    for (const [code, most] of [
      [`export { textOf } from 'skein'`, 2_000],
      [`export { InvalidError } from 'skein'`, 4_000],
      [`export { tool } from 'skein/agent'`, 20_000],
    ] as const) {
      writeFileSync(join(place, 'shaken.mjs'), code)
      const bundle = await rolldown({
        input: join(place, 'shaken.mjs'),
        platform: 'node',
        external: id => /^(node:|[a-z@])/.test(id) && !id.startsWith('skein'),
      })
      const { output } = await bundle.generate({ format: 'esm' })
      await bundle.close()
      // Converters of schemas are loaded on demand.
      expect(output[0].imports.filter(name => output.some(({ fileName }) => fileName === name))).toEqual([])
      expect(output[0].code.length, code).toBeLessThan(most)
    }
  })
})
