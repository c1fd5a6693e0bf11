import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { median, pairedRatio } from '../measure.ts'
import { type Line, type Suite, time } from '../suite.ts'
import { makeTurn } from '../workload.ts'

/** The time of the command from start to exit, compared with a program that does nothing, on the same Node.
 */

const root = join(import.meta.dirname, '../..')
const bin = join(root, 'dist/cli/skein.cjs')
const writer = join(import.meta.dirname, '../busy-writer.ts')
const groups = 12

const few = 20

export const cliSuite: Suite = {
  name: 'cli',
  when: 'byName',
  tasks: {},
  async run(bench) {
    const { rounds, conversations } = bench.scale
    const empty = join(bench.place, 'empty.mjs')
    writeFileSync(empty, '')
    const cwd = join(bench.place, 'work')
    mkdirSync(cwd)
    const small = join(bench.place, 'small.db')
    const large = join(bench.place, 'large.db')
    const id = await fill(small, few, cwd)
    const someId = await fill(large, conversations[1], cwd)
    const configured = join(bench.place, 'configured')
    mkdirSync(configured)
    writeFileSync(join(configured, 'skein.yaml'), 'model: scripted\n')
    const installed = install(join(bench.place, 'installed'))
    const ask = ['-n', '-m', 'scripted', '--db', small, 'hello']
    const programs = {
      empty: [empty],
      ls: [bin, 'ls', '--db', small],
      show: [bin, 'show', id, '--db', small],
      search: [bin, 'search', 'function', '--db', small],
      configured: [bin, 'ls', '--db', small, '--all'],
      prompt: [bin, ...ask],
      installedLs: [installed, 'ls', '--db', small],
      installedSearch: [installed, 'search', 'function', '--db', small],
      installedPrompt: [installed, ...ask],
      mcp: [bin, 'mcp', '--db', small],
      manyLs: [bin, 'ls', '--db', large],
      manyShow: [bin, 'show', someId, '--db', large],
      manySearch: [bin, 'search', 'function', '--db', large],
    } as const
    type Name = keyof typeof programs
    const names = Object.keys(programs) as Name[]
    const cache = join(bench.place, 'cache')
    const timed = (name: Name) =>
      run(programs[name], {
        cwd: name === 'configured' ? configured : cwd,
        input: name === 'mcp' ? initialize : '',
        cache,
      })
    for (const name of names) timed(name)
    const took = Object.fromEntries(names.map(name => [name, [] as number[][]])) as Record<Name, number[][]>
    for (let round = 0; round < rounds; round++) {
      for (const name of names) took[name].push([])
      for (let group = 0; group < groups; group++) {
        for (const name of names) took[name][round]!.push(timed(name))
      }
    }
    const middle = (name: Name) => time(median(took[name].flat()))
    const line = (work: string, ours: Name, floor: Name, goal: number): Line => ({
      work,
      floor: middle(floor),
      ours: middle(ours),
      ratio: pairedRatio(took[ours], took[floor]),
      goal,
    })
    const all = conversations[1].toLocaleString('en')
    const many = (name: string) => `skein ${name} with ${all} conversations ÷ with ${few}`
    return [
      line('skein ls ÷ an empty program', 'ls', 'empty', 2),
      line('skein show ÷ an empty program', 'show', 'empty', 2),
      line('skein search ÷ an empty program', 'search', 'empty', 2),
      line('skein "hello", the scripted model ÷ an empty program', 'prompt', 'empty', 3.5),
      line('installed, not the first time: skein ls ÷ an empty program', 'installedLs', 'empty', 2),
      line('installed: skein search ÷ an empty program', 'installedSearch', 'empty', 2),
      line('installed: skein "hello" ÷ an empty program', 'installedPrompt', 'empty', 3.5),
      line('skein ls with a skein.yaml ÷ an empty program', 'configured', 'empty', 2.8),
      line('skein mcp: the first answer ÷ an empty program', 'mcp', 'empty', 10),
      line(many('ls'), 'manyLs', 'ls', 1.2),
      line(many('show'), 'manyShow', 'show', 1.2),
      line(many('search'), 'manySearch', 'search', 1.2),
      await besideWriter(small, join(bench.place, 'other.db'), cwd, rounds),
    ]
  },
}

/** The time of `skein ls` while another process writes into its store without a pause, compared with a
 *  process that writes as much into another store: the difference is waiting. */
async function besideWriter(store: string, other: string, cwd: string, rounds: number): Promise<Line> {
  const took = { same: [] as number[][], other: [] as number[][] }
  for (let round = 0; round < rounds; round++) {
    for (const [name, file] of [
      ['same', store],
      ['other', other],
    ] as const) {
      const child = spawn(process.execPath, [writer, file], { stdio: ['ignore', 'pipe', 'inherit'] })
      await once(child.stdout, 'data')
      took[name].push(Array.from({ length: groups }, () => run([bin, 'ls', '--db', store], { cwd })))
      child.kill()
      await once(child, 'close')
    }
  }
  return {
    work: 'skein ls beside a writer ÷ beside one of another store',
    floor: time(median(took.other.flat())),
    ours: time(median(took.same.flat())),
    ratio: pairedRatio(took.same, took.other),
    goal: 1.2,
  }
}

/** The first request of an MCP client. The command answers it and ends with its input. */
const initialize = `${JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } },
})}\n`

/** The command as it is in an installed package: without the code that V8 compiled when it was built. Returns
 *  its path. */
function install(place: string): string {
  cpSync(join(root, 'dist/cli'), join(place, 'dist/cli'), {
    recursive: true,
    filter: path => !/^(code-|main\.readable)/.test(basename(path)),
  })
  cpSync(join(root, 'package.json'), join(place, 'package.json'))
  for (const folder of ['node_modules', 'dist/vendor']) symlinkSync(join(root, folder), join(place, folder))
  return join(place, 'dist/cli/skein.cjs')
}

interface RunOptions {
  readonly cwd: string
  readonly input?: string
  /** Where an installed command keeps compiled code. */
  readonly cache?: string
}

/** Microseconds. */
function run(args: readonly string[], { cwd, input = '', cache }: RunOptions): number {
  // Certificates that a machine adds cost every Node process tens of milliseconds.
  const { NODE_EXTRA_CA_CERTS: _, ...given } = process.env
  const env = { ...given, ...(cache && { XDG_CACHE_HOME: cache }) }
  const start = performance.now()
  const { status, stderr } = spawnSync(process.execPath, args, { cwd, env, input })
  if (status !== 0)
    throw new Error(`${args.join(' ')}: ${stderr}. The command has to be built: npm run build`)
  return (performance.now() - start) * 1_000
}

async function fill(file: string, conversations: number, directory: string): Promise<string> {
  const db = new BetterSqlite3(file)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = off')
  const store = await sqliteStore(db)
  let last = ''
  for (let i = 0; i < conversations; i++) {
    if (i % 500 === 0) db.exec('BEGIN')
    const { branch, conversation } = await store.create({ directory, title: `Conversation ${i}` })
    const { key, messages } = makeTurn(i)
    await store.append(branch, null, messages, { turn: { key, step: 0 } })
    last = conversation.id
    if (i % 500 === 499 || i === conversations - 1) db.exec('COMMIT')
  }
  await store.indexSearch()
  db.close()
  return last
}
