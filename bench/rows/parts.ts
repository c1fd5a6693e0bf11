import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { type Contender, type ContenderName, openContender } from '../contender.ts'
import { median } from '../measure.ts'
import { inFreshProcess } from '../process.ts'
import { type Line, type Suite, time } from '../suite.ts'
import { makeTurn, workId } from '../workload.ts'

/** The parts of an append, a list and a fork: each statement separately, and the rest. It explains the other
 *  rows and has a cost itself, so totals are higher here. */

const names = ['floor', 'floor-hash', 'ours'] as const
const operations = ['append', 'list', 'fork'] as const
type Operation = (typeof operations)[number]

interface Args {
  readonly name: ContenderName
  readonly file: string
  readonly operation: Operation
}

/** Microseconds per part. */
type Parts = Readonly<Record<string, number>>

/** The names of both sides' statements in this table. */
const kinds: readonly (readonly [pattern: RegExp, kind: string])[] = [
  [/^\s*BEGIN/, 'begin'],
  [/^\s*COMMIT/, 'commit: pages to the log'],
  [/^\s*INSERT INTO (skein_)?messages/, 'insert messages'],
  [/^\s*INSERT INTO (skein_)?turns/, 'insert the turn'],
  [/^\s*INSERT INTO (skein_)?branches/, 'insert the branch'],
  [/^\s*UPDATE (skein_)?branches/, 'move the head'],
  [/^\s*UPDATE (skein_)?conversations/, 'update the conversation'],
  [/^\s*SELECT/, 'read'],
]

/** Times every statement of this process, by its kind. */
function timeStatements(): { take(): Record<string, number> } {
  const db = new BetterSqlite3(':memory:')
  const statement = Object.getPrototypeOf(db.prepare('SELECT 1'))
  let times: Record<string, number> = {}
  const kindOf = new WeakMap<object, string>()
  const nameKind = (of: { source: string }) => {
    const kind = kinds.find(([pattern]) => pattern.test(of.source))?.[1] ?? 'other statements'
    kindOf.set(of, kind)
    return kind
  }
  for (const method of ['run', 'get', 'all'] as const) {
    const original = statement[method] as (...values: unknown[]) => unknown
    statement[method] = function (this: { source: string }, ...values: unknown[]) {
      const start = performance.now()
      const result = original.apply(this, values)
      const took = (performance.now() - start) * 1_000
      const kind = kindOf.get(this) ?? nameKind(this)
      times[kind] = (times[kind] ?? 0) + took
      return result
    }
  }
  return {
    take() {
      const taken = times
      times = {}
      return taken
    },
  }
}

async function parts({ name, file, operation }: Args): Promise<Parts> {
  const contender = await openContender(name, file, 'normal')
  const work = await prepare(contender, operation)
  const statements = timeStatements()
  const each: Record<string, number>[] = []
  for (let i = 0; i < 4_000; i++) {
    statements.take()
    const call = work()
    const start = performance.now()
    await call()
    const total = (performance.now() - start) * 1_000
    const taken = statements.take()
    const inside = Object.values(taken).reduce((a, b) => a + b, 0)
    if (i >= 1_000)
      each.push({ ...taken, 'JavaScript: checks, JSON, hashes, rows to values': total - inside })
    await new Promise(setImmediate)
  }
  await contender.close()
  const all = new Set(each.flatMap(one => Object.keys(one)))
  return Object.fromEntries([...all].map(part => [part, median(each.map(one => one[part] ?? 0))]))
}

/** Creates the fixture, and a function that prepares one call. */
async function prepare(contender: Contender, operation: Operation): Promise<() => () => unknown> {
  const heads = new Map<string, string | null>()
  const count = operation === 'list' ? 1_000 : 20
  for (let i = 0; i < count; i++) {
    await contender.create(workId(i), `conversation ${i}`)
    heads.set(workId(i), null)
  }
  let number = 0
  const append = () => {
    const turn = makeTurn(number)
    const id = workId(number++ % 20)
    return async () => heads.set(id, await contender.append(id, heads.get(id)!, turn))
  }
  for (let i = 0; i < 400; i++) await append()()
  if (operation === 'append') return append
  if (operation === 'list') return () => () => contender.list()
  return () => {
    const id = workId(number++ % 20)
    return () => contender.fork(id, heads.get(id)!, `fork-${number}`)
  }
}

export const partsSuite: Suite = {
  name: 'parts',
  when: 'byName',
  tasks: { parts },
  async run(bench) {
    const lines: Line[] = []
    for (const operation of operations) {
      const found = {} as Record<ContenderName, Parts>
      for (const name of names) {
        const args: Args = { name, file: join(bench.place, `parts-${name}-${operation}.db`), operation }
        found[name] = await inFreshProcess<Parts>({ suite: 'parts', task: 'parts', args })
      }
      const all = new Set(names.flatMap(name => Object.keys(found[name])))
      for (const part of all) {
        const shown = (name: ContenderName) =>
          found[name][part] === undefined ? '' : time(found[name][part]!)
        const note = operation === 'append' ? `floor-hash ${shown('floor-hash')}` : ''
        lines.push({ work: `${operation}: ${part}`, floor: shown('floor'), ours: shown('ours'), note })
      }
    }
    return lines
  },
}
