import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { median, pairedRatio } from '../measure.ts'
import { type Line, type Suite, time } from '../suite.ts'

/** The time of a small program that imports the built library, from start to exit, compared with a program
 *  that does nothing, on the same Node. Each run is a new process. */

const root = join(import.meta.dirname, '../..')
const groups = 12

const useStore = `
import { openStore } from 'skein'
const store = await openStore(process.argv[2])
const { branch } = await store.create({})
const { head } = await store.append(branch, null, [{ role: 'user', content: 'hello' }])
await store.tail(head, { tokens: 1_000 })
await store.close()`

/** The first run makes the conversation that the others read. */
const resume = `
import { openStore } from 'skein'
const store = await openStore(process.argv[2])
const { branch } = await store.findOrCreate('bench')
const { head } = await store.getBranch(branch)
if (head) await store.tail(head, { tokens: 1_000 })
else await store.append(branch, null, [{ role: 'user', content: 'hello' }])
await store.close()`

/** The work of `useStore` on the driver itself. */
const useDriver = `
import { createHash } from 'node:crypto'
import Database from 'better-sqlite3'
const db = new Database(process.argv[2])
db.pragma('journal_mode = WAL')
db.exec('CREATE TABLE IF NOT EXISTS floor (id TEXT PRIMARY KEY, body TEXT) STRICT')
const body = JSON.stringify({ role: 'user', content: 'hello', at: performance.now() })
const id = createHash('sha256').update(body).digest('hex')
db.prepare('INSERT INTO floor VALUES (?, ?)').run(id, body)
db.prepare('SELECT * FROM floor WHERE id = ?').get(id)
db.close()`

const programs = {
  empty: '',
  skein: `import 'skein'`,
  sqlite: `import 'skein'\nimport 'skein/sqlite'`,
  agent: `import 'skein/agent'`,
  acp: `import 'skein/acp'`,
  models: `import 'skein/models'`,
  driver: useDriver,
  store: useStore,
  resume,
} as const

type Name = keyof typeof programs

export const startSuite: Suite = {
  name: 'start',
  when: 'byName',
  tasks: {},
  async run(bench) {
    const project = join(bench.place, 'project')
    mkdirSync(project)
    // A project that has the package installed: `skein` and its dependencies resolve as for a user.
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
    mkdirSync(join(project, 'node_modules'))
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>
    }
    symlinkSync(root, join(project, 'node_modules/skein'))
    for (const name of Object.keys(dependencies).filter(name => !name.startsWith('@')))
      symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name))
    const names = Object.keys(programs) as Name[]
    for (const name of names) writeFileSync(join(project, `${name}.js`), programs[name])
    const timed = (name: Name) => run([join(project, `${name}.js`), join(project, `${name}.db`)], project)
    for (const name of names) timed(name)
    const took = Object.fromEntries(names.map(name => [name, [] as number[][]])) as Record<Name, number[][]>
    for (let round = 0; round < bench.scale.rounds; round++) {
      for (const name of names) took[name].push([])
      for (let group = 0; group < groups; group++)
        for (const name of names) took[name][round]!.push(timed(name))
    }
    const line = (work: string, name: Name, goal?: number): Line => ({
      work,
      floor: time(median(took.empty.flat())),
      ours: time(median(took[name].flat())),
      ratio: pairedRatio(took[name], took.empty),
      ...(goal !== undefined && { goal }),
      ...(name === 'store' && { why: whyStore }),
    })
    return [
      line(`import 'skein' ÷ an empty program`, 'skein'),
      line(`import 'skein' and 'skein/sqlite' ÷ an empty program`, 'sqlite', 1.6),
      line(`import 'skein/agent' ÷ an empty program`, 'agent', 2.2),
      line(`import 'skein/acp' ÷ an empty program`, 'acp', 2),
      line(`import 'skein/models' ÷ an empty program`, 'models'),
      line('better-sqlite3: open, insert, select ÷ an empty program', 'driver'),
      line('openStore, create, append, tail ÷ an empty program', 'store', 1.6),
      line('openStore, find, tail ÷ an empty program', 'resume'),
    ]
  },
}

const whyStore =
  'a program that only opens better-sqlite3, hashes, inserts and selects is near the goal itself (the row ' +
  'before: 214 million instructions; this one has 268, an empty program 90). This one has two transactions that ' +
  'wait for the disk instead of one, and more pages to write and to copy at the end. What remains of our own: ' +
  'V8 reads 224 kB of code (65 million instructions, with finding the files), and compiles what is called.'

/** Microseconds. */
function run(args: readonly string[], cwd: string): number {
  // Certificates that a machine adds cost every Node process tens of milliseconds.
  const { NODE_EXTRA_CA_CERTS: _, NODE_COMPILE_CACHE: __, ...env } = process.env
  const start = performance.now()
  const { status, stderr } = spawnSync(process.execPath, args, { cwd, env })
  if (status !== 0)
    throw new Error(`${args.join(' ')}: ${stderr}. The library has to be built: npm run build`)
  return (performance.now() - start) * 1_000
}
