import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { leaseMs } from '../../src/core/turn.ts'
import { engines, freshTarget } from '../recorder/engines.ts'
import { openPool } from '../stores/postgres/database.ts'
import { type Point, postgresPoints, sqlitePoints } from './death.ts'
import { note } from './note.ts'
import { type Operation, type OperationName, operations } from './operations.ts'
import { size } from './size.ts'

/** Processes that die at a named point of a transaction. The deaths of the recorder and the agent are in the
 *  batteries `kills` and `crash`. */
const rounds = size({ gate: 1, full: 20 })
const timeout = 30_000 + rounds * 30_000
/** The next process runs after the claim of the dead one has expired. */
const later = () => Date.now() + leaseMs + 1_000
const names = Object.keys(operations) as OperationName[]

/** Runs an operation in a process that dies in its n-th transaction. Returns the number of transactions if it
 *  survives. */
async function dieIn(target: string, name: OperationName, point: Point | 'never', n: number, how = '') {
  const child = fork(join(import.meta.dirname, 'dying.ts'), [target, name, point, String(n), how], {
    execArgv: [],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let made: number | null = null
  child.on('message', count => {
    made = count as number
  })
  const [code, signal] = await once(child, 'exit')
  if (signal !== 'SIGKILL' && code !== 0) throw new Error(`the process ended with ${signal ?? code}`)
  return made
}

/** Waits until the server has ended the connections of a dead process. Before that, a transaction that was
 *  sent may commit between two queries of a look. */
async function serverIsDone(url: string): Promise<void> {
  const pool = openPool(url)
  const others = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
    AND backend_type = 'client backend' AND pid <> pg_backend_pid()`
  while ((await pool.query(others)).rowCount !== 0) await new Promise(resolve => setTimeout(resolve, 10))
  await pool.end()
}

describe.each(engines)('a process on %s that dies', engine => {
  const points: readonly Point[] = engine === 'sqlite' ? sqlitePoints : postgresPoints

  it.each(names)(
    'in %s leaves nothing or all of it, and the operation can be repeated (R2)',
    { timeout },
    async name => {
      const { prepare, run, look, inParts }: Operation = operations[name]
      const healthy = await freshTarget(engine)
      await prepare(healthy)
      expect(await look(healthy)).toBe('nothing')
      const transactions = await dieIn(healthy, name, 'never', 0)
      expect(await look(healthy)).toBe('all')

      let deaths = 0
      for (const point of points) {
        for (let round = 0; round < rounds; round++) {
          // Most is at stake in the last one; in the long form they are spread over all.
          const n = transactions! - Math.floor((round * transactions!) / rounds)
          const target = await freshTarget(engine)
          await prepare(target)
          const lived = await dieIn(target, name, point, n)
          // Some transactions have no middle.
          if (lived !== null) continue
          deaths++
          if (engine === 'postgres') await serverIsDone(target)
          const left = await look(target)
          const whole = ['nothing', 'all']
          expect(inParts ? [...whole, 'part'] : whole, `${point} of ${n}`).toContain(left)
          if (point === 'before begin' || point === 'before commit' || point === 'before it is sent')
            expect(left, `${point} of ${n}`).not.toBe('all')
          if ((point === 'after commit' || point === 'after it was answered') && n === transactions)
            expect(left).toBe('all')
          await run(target, () => {}, later)
          expect(await look(target), `done again after ${point} of ${n}`).toBe('all')
        }
      }
      note('deaths', deaths)
      note('damaged', 0)
      expect(deaths).toBeGreaterThanOrEqual(points.length)
    },
  )
})

it.each(['a turn', 'a migration'] as const)(
  'control: leaves a part of %s without transactions',
  async name => {
    const { prepare, look } = operations[name]
    const target = await freshTarget('sqlite')
    await prepare(target)
    expect(await dieIn(target, name, 'in the middle', 1, 'careless')).toBeNull()
    expect(['nothing', 'all']).not.toContain(await look(target).catch(error => String(error)))
  },
)
