import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { Client } from 'pg'
import { openStore } from '../../src/stores/open.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { middleOf, pairedRatio } from '../measure.ts'
import { inFreshProcess } from '../process.ts'
import { type Bench, type Line, rounds, type Suite, seriesOf, time } from '../suite.ts'

/** Claim and finish of an empty task, against a queue of one table in hand-written SQL; and the same with
 *  many finished and many queued tasks. */

const perGroup = 40
const warmUp = 3
const groups = 10

interface QueueArgs {
  readonly queue: 'floor' | 'ours'
  /** A file, or the URL of an empty database. */
  readonly target: string
  readonly finished: number
  readonly queued: number
}

interface Measured {
  /** Microseconds of one claim and finish. */
  readonly pair: number
}

/** A queue under test. */
interface Queue {
  submit(id: string): Promise<void>
  /** Claims the oldest task and finishes it. */
  work(): Promise<void>
  close(): Promise<void>
}

async function fill(args: QueueArgs): Promise<null> {
  const queue = await openQueue(args)
  if (args.queue === 'ours') await fillOurs(args.target, args.finished)
  for (let i = 0; i < args.queued; i++) await queue.submit(`q${i}`)
  await queue.close()
  return null
}

/** Leaves as many queued tasks as it found. */
async function* work({ round, ...args }: QueueArgs & { readonly round: number }): AsyncGenerator<Measured> {
  const queue = await openQueue(args)
  let made = 0
  for (let group = 0; group < warmUp + groups; group++) {
    for (let i = 0; i < perGroup; i++) await queue.submit(`r${round}-${made++}`)
    const start = performance.now()
    for (let i = 0; i < perGroup; i++) await queue.work()
    if (group >= warmUp) yield { pair: ((performance.now() - start) / perGroup) * 1_000 }
  }
  await queue.close()
}

function openQueue(args: QueueArgs): Promise<Queue> {
  return args.queue === 'ours' ? ours(args) : floor(args)
}

const isUrl = (target: string) => target.startsWith('postgres')
const holder = { host: 'bench', boot: 'b', pid: 1, startedAt: 1 }

async function ours({ target }: QueueArgs): Promise<Queue> {
  const store = await openStore(target)
  return {
    async submit(id) {
      await store.submitTask({ id, description: 'An empty task' })
    },
    async work() {
      const claimed = await store.claimDispatch({ holder, worker: 'w' })
      await store.finishDispatch(claimed!.claim, { status: 'done', result: { success: true } })
    },
    close: () => store.close(),
  }
}

/** Finished tasks, as the store would have left them. */
async function fillOurs(target: string, count: number): Promise<void> {
  const columns = `id, description, metadata, status, attempts, queued_at, created_at, updated_at`
  const more = `task, n, status, attempts, result, created_at, ended_at`
  if (isUrl(target)) {
    const client = new Client({ connectionString: target })
    await client.connect()
    const from = `generate_series(1, ${count}) i`
    await client.query(`
      INSERT INTO skein.tasks (tenant, ${columns})
      SELECT 'default', 'done-' || i, 'An empty task', '{}', 'done', 1, i, i, i FROM ${from}`)
    await client.query(`
      INSERT INTO skein.dispatches (tenant, ${more})
      SELECT 'default', 'done-' || i, 1, 'done', 1, '{}', i, i FROM ${from}`)
    await client.query('VACUUM ANALYZE skein.tasks, skein.dispatches')
    await client.end()
    return
  }
  const db = new BetterSqlite3(target)
  const series = `WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ${count})`
  db.exec(`
    INSERT INTO skein_tasks (${columns}) ${series}
    SELECT 'done-' || i, 'An empty task', '{}', 'done', 1, i, i, i FROM s;
    INSERT INTO skein_dispatches (${more}) ${series} SELECT 'done-' || i, 1, 'done', 1, '{}', i, i FROM s`)
  db.close()
}

/** One table, one partial index, and one statement for each step. */
async function floor({ target }: QueueArgs): Promise<Queue> {
  const table = `
    CREATE TABLE IF NOT EXISTS jobs (
      id text PRIMARY KEY, payload text NOT NULL, status text NOT NULL, queued_at bigint NOT NULL, holder text,
      lease_until bigint, result text, ended_at bigint);
    CREATE INDEX IF NOT EXISTS jobs_queued ON jobs (queued_at, id) WHERE status = 'queued'`
  if (isUrl(target)) {
    const client = new Client({ connectionString: target })
    await client.connect()
    await client.query(table)
    const submit = `INSERT INTO jobs (id, payload, status, queued_at) VALUES ($1, $2, 'queued', $3)`
    const claim = `
      UPDATE jobs SET status = 'running', holder = $1, lease_until = $2 WHERE id = (
        SELECT id FROM jobs WHERE status = 'queued' ORDER BY queued_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING id, payload`
    const finish = `UPDATE jobs SET status = 'done', result = $2, ended_at = $3 WHERE id = $1`
    return {
      async submit(id) {
        await client.query({ name: 'submit', text: submit, values: [id, 'An empty task', Date.now()] })
      },
      async work() {
        const values = ['bench', Date.now() + 30_000]
        const { rows } = await client.query({ name: 'claim', text: claim, values })
        await client.query({ name: 'finish', text: finish, values: [rows[0].id, '{}', Date.now()] })
      },
      close: () => client.end(),
    }
  }
  const db = new BetterSqlite3(target)
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; ${table}`)
  const submit = db.prepare(`INSERT INTO jobs (id, payload, status, queued_at) VALUES (?, ?, 'queued', ?)`)
  const claim = db.prepare(`
    UPDATE jobs SET status = 'running', holder = ?, lease_until = ? WHERE id = (
      SELECT id FROM jobs WHERE status = 'queued' ORDER BY queued_at, id LIMIT 1)
    RETURNING id, payload`)
  const finish = db.prepare(`UPDATE jobs SET status = 'done', result = ?, ended_at = ? WHERE id = ?`)
  return {
    submit: async id => void submit.run(id, 'An empty task', Date.now()),
    async work() {
      const { id } = claim.get('bench', Date.now() + 30_000) as { id: string }
      finish.run('{}', Date.now(), id)
    },
    close: async () => void db.close(),
  }
}

const base = { finished: 100, queued: 100 }

export const dispatchSuite: Suite = {
  name: 'dispatch',
  when: 'byName',
  tasks: { fill, work },
  async run(bench) {
    const server = await startPostgres({ fsync: 'on' })
    try {
      const engines = [
        { name: 'SQLite', fresh: async (file: string) => join(bench.place, `${file}.db`) },
        { name: 'PostgreSQL', fresh: () => server.createDatabase() },
      ]
      const lines: Line[] = []
      for (const engine of engines) lines.push(...(await compare(bench, engine)))
      return lines
    } finally {
      await server.stop()
    }
  },
}

const whyQueue =
  'a claim and its end write 6 pages of the log (the task, the queue, the list of open tasks, the dispatch), ' +
  'where the floor writes 3, and wait for the disk twice, as the floor does. The statements take 35 µs more ' +
  'and JavaScript 45: two rows become values with 29 members, and every field is checked.'

interface BenchEngine {
  readonly name: string
  fresh(file: string): Promise<string>
}

async function compare(bench: Bench, { name, fresh }: BenchEngine): Promise<Line[]> {
  const many = bench.scale.history >= 100_000 ? 1_000_000 : 100_000
  const cases: Record<string, Omit<QueueArgs, 'target'>> = {
    floor: { queue: 'floor', ...base },
    ours: { queue: 'ours', ...base },
    finished: { queue: 'ours', ...base, finished: many },
    queued: { queue: 'ours', ...base, queued: 10_000 },
  }
  const names = Object.keys(cases)
  const targets: Record<string, string> = {}
  for (const one of names) {
    const target = await fresh(`dispatch-${one}`)
    targets[one] = target
    await inFreshProcess({ suite: 'dispatch', task: 'fill', args: { ...cases[one]!, target } })
  }
  const measured = await rounds<string, Measured>(
    bench.scale.rounds,
    names,
    { suite: 'dispatch', task: 'work' },
    (one, round) => ({ ...cases[one]!, target: targets[one]!, round }),
  )
  const pairs = (one: string) => seriesOf(measured[one]!, 'pair')
  const line = (what: string, one: string, against: string, goal: number): Line => ({
    work: `${what}, ${name}`,
    floor: time(middleOf(pairs(against))),
    ours: time(middleOf(pairs(one))),
    ratio: pairedRatio(pairs(one), pairs(against)),
    goal,
    ...(against === 'floor' && { why: whyQueue }),
  })
  return [
    line('claim and finish against a hand-written queue', 'ours', 'floor', 1.67),
    line(`with ${many.toLocaleString('en')} finished tasks against 100`, 'finished', 'ours', 1.3),
    line('with 10,000 queued tasks against 100', 'queued', 'ours', 1.3),
  ]
}
