import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Pool } from 'pg'
import { createAgent } from '../../src/agent/agent.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { throughPort } from '../../test/support/dial-postgres.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import {
  makeFloorTables,
  openPostgresFloor,
  type PostgresContender,
  whyAppendTakesLonger,
} from '../floor-postgres.ts'
import { median, pairedRatio, type Series, timeEach } from '../measure.ts'
import { oursOver } from '../ours-postgres.ts'
import { processorTimeOf } from '../processor-time.ts'
import { type Line, type Suite, time } from '../suite.ts'
import { timedModel } from '../timed-model.ts'
import { makeTurn, workId } from '../workload.ts'

/** PostgreSQL with many callers, and over a slow network. The floor is hand-written SQL on a pool with as
 *  many connections, in the same process. The contenders alternate. */

const connections = 10
const conversations = 32
const turnsEach = 25
const groups = 8
const delayMs = 2

type Work = (caller: number) => Promise<unknown>

/** Counted by `bench/instructions.ts` (decision 84). */
const whyTail =
  'the server takes 750,000 instructions for a tail and the floor 687,000: the head is found by its id, the ' +
  'rows have more columns, and a function for tails across forks is set up. The client makes values of 15 ' +
  'columns.'
const whyResume =
  'one request is one delay. The rest is the time of both sides for finding and for the 60 kB of a tail. A ' +
  'busy machine adds to it, because each message wakes a process.'

const whySend =
  'the question is appended at the head that the first request returns, with a commit that waits for the disk.'

export const callersSuite: Suite = {
  name: 'callers',
  when: 'byName',
  tasks: {},
  async run(bench) {
    const server = await startPostgres({ fsync: 'on' })
    try {
      const urls = { floor: await server.createDatabase(), ours: await server.createDatabase() }
      await makeFloorTables(urls.floor)
      const pool = new Pool({ connectionString: urls.floor, max: connections, min: 1 })
      await using store = await openPostgresStore(urls.ours, { pool: { max: connections } })
      pool.on('error', () => {})
      const floor = await openPostgresFloor(pool)
      const ours = oursOver(store)
      const heads = { floor: await fill(floor), ours: await fill(ours) }
      await using used = await processorTimeOf([urls.floor, urls.ours])
      const tail = (contender: PostgresContender, of: readonly string[]): Work => {
        return i => contender.tail(workId(i % conversations), of[i % conversations]!, 40)
      }
      let turn = 1_000_000
      const append = (contender: PostgresContender, of: string[]): Work => {
        return async i => {
          of[i] = await contender.append(workId(i), of[i]!, makeTurn(turn++))
        }
      }
      const rounds = bench.scale.rounds
      const compare = async (callers: number, each: number, works: { floor: Work; ours: Work }) => {
        const took: Compared = { floor: [], ours: [], busy: { floor: [], ours: [] } }
        const settle = () => store.indexSearch()
        for (const name of ['floor', 'ours'] as const) await perCall(works[name], callers, each)
        await settle()
        for (let round = 0; round < rounds; round++) {
          for (const name of ['floor', 'ours'] as const) took[name].push([])
          for (let group = 0; group < groups; group++)
            for (const name of group % 2 === 0
              ? (['floor', 'ours'] as const)
              : (['ours', 'floor'] as const)) {
              const before = await used?.read()
              took[name][round]!.push(await perCall(works[name], callers, each))
              took.busy[name].push(((await used?.read()) ?? Number.NaN) - (before ?? 0))
              // Otherwise the background index would disturb the floor.
              await settle()
            }
        }
        return took
      }
      const lines: Line[] = []
      for (const callers of [1, 8, 32]) {
        const works = { floor: tail(floor, heads.floor), ours: tail(ours, heads.ours) }
        const took = await compare(callers, Math.ceil(160 / callers), works)
        lines.push(throughput(`tail of 40 messages, ${callers} callers`, took, 0.85, whyTail))
      }
      const works = { floor: append(floor, heads.floor), ours: append(ours, heads.ours) }
      lines.push(
        throughput('append a turn, 32 callers', await compare(32, 5, works), 0.8, whyAppendTakesLonger),
      )
      lines.push(...(await overSlowNetwork(urls, rounds)))
      await pool.end()
      return lines
    } finally {
      await server.stop()
    }
  },
}

interface Compared {
  readonly floor: number[][]
  readonly ours: number[][]
  /** The processor time of each group, of client and server. */
  readonly busy: { readonly floor: number[]; readonly ours: number[] }
}

function throughput(work: string, took: Compared, goal: number, why: string): Line {
  const share = median(took.busy.floor) / median(took.busy.ours)
  const perSecond = (series: Series) => `${Math.round(1_000_000 / middle(series))} a second`
  return {
    work: `PostgreSQL: ${work}, ours ÷ floor`,
    floor: perSecond(took.floor),
    ours: perSecond(took.ours),
    ratio: pairedRatio(took.floor, took.ours),
    goal,
    more: true,
    note: `${connections} connections each${Number.isNaN(share) ? '' : `; by processor time ${share.toFixed(2)}`}`,
    why,
  }
}

function middle(series: Series): number {
  const all = series.flat().sort((a, b) => a - b)
  return all[all.length >> 1]!
}

/** Microseconds per call, while `callers` call at the same time, each again and again. */
async function perCall(work: Work, callers: number, each: number): Promise<number> {
  const start = performance.now()
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      for (let i = 0; i < each; i++) await work(caller)
    }),
  )
  return ((performance.now() - start) * 1_000) / (callers * each)
}

async function fill(contender: PostgresContender): Promise<string[]> {
  const heads: string[] = []
  for (let i = 0; i < conversations; i++) {
    await contender.create(workId(i), 'a conversation')
    let head: string | null = null
    for (let turn = 0; turn < turnsEach; turn++)
      head = await contender.append(workId(i), head, makeTurn(i * turnsEach + turn))
    heads.push(head!)
  }
  return heads
}

/** Finds a conversation by its key and reads its tail, in one request and in two, through a proxy that holds
 *  every answer back. Hand-written SQL takes two. */
async function overSlowNetwork(
  urls: Record<'floor' | 'ours', string>,
  rounds: number,
): Promise<readonly Line[]> {
  await using proxy = await startSlowProxy(urls.ours)
  await using floorProxy = await startSlowProxy(urls.floor)
  await using store = await openPostgresStore(proxy.url, { pool: { max: 1 }, indexing: 'manual' })
  const floorPool = new Pool({ connectionString: floorProxy.url, max: 1, min: 1 })
  floorPool.on('error', () => {})
  const floor = await openPostgresFloor(floorPool)
  const key = `work:${workId(0)}`
  const { model, calledAt } = timedModel()
  await using agent = createAgent({ store, model, window: { limit: 125_000, maxMessages: 40 } })
  const works = {
    trip: () => floorPool.query('SELECT 1'),
    resume: () => store.findWithTail(key, { messages: 40 }),
    apart: async () => {
      const { branch } = await store.findOrCreate(key)
      await store.tail(branch.head!, { messages: 40 })
    },
    floor: async () => {
      const head = await floor.head(workId(0))
      await floor.tail(workId(0), head!, 40)
    },
  }
  const names = ['trip', 'resume', 'apart', 'floor'] as const
  const took = { trip: [], resume: [], apart: [], floor: [], send: [] } as Record<
    keyof typeof works | 'send',
    number[][]
  >
  /** Microseconds until the model is called. */
  const send = async () => {
    const start = performance.now()
    await agent.ask('work:agent', 'And now?')
    return (calledAt() - start) * 1_000
  }
  for (const name of names) await timeEach(50, works[name])
  for (let i = 0; i < 50; i++) await send()
  for (let round = 0; round < rounds; round++) {
    for (const name of [...names, 'send'] as const) took[name].push([])
    for (let group = 0; group < groups; group++) {
      for (const name of group % 2 === 0 ? names : names.toReversed())
        took[name][round]!.push(median(await timeEach(10, works[name])))
      const sent: number[] = []
      for (let i = 0; i < 10; i++) sent.push(await send())
      took.send[round]!.push(median(sent))
    }
  }
  await floorPool.end()
  const line = (work: string, name: keyof typeof took, more: Partial<Line>): Line => ({
    work: `PostgreSQL: ${work}, ${delayMs} ms of network delay, ÷ a round trip`,
    floor: time(middle(took.trip)),
    ours: time(middle(took[name])),
    ratio: pairedRatio(took[name], took.trip),
    ...more,
  })
  const byHand = `hand-written SQL, two requests: ${(middle(took.floor) / middle(took.trip)).toFixed(2)}`
  return [
    line('findWithTail', 'resume', { goal: 2.2, note: byHand, why: whyResume }),
    line('findOrCreate, then tail', 'apart', { note: byHand }),
    line('an agent, from send() to its model', 'send', {
      goal: 3.3,
      note: 'two requests: find with the tail, store the question',
      why: whySend,
    }),
  ]
}

interface SlowProxy extends AsyncDisposable {
  readonly url: string
}

/** A proxy on the loopback that adds a delay to each answer, in a process of its own. */
async function startSlowProxy(url: string): Promise<SlowProxy> {
  const child = fork(new URL('../slow-proxy.ts', import.meta.url), [url, String(delayMs)])
  const ended = once(child, 'exit')
  const [port] = (await Promise.race([once(child, 'message'), ended])) as [number]
  if (!child.connected) throw new Error('the proxy did not start')
  return {
    url: throughPort(url, port),
    async [Symbol.asyncDispose]() {
      child.disconnect()
      await ended
    },
  }
}
