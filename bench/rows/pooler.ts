import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import type { Store } from '../../src/core/ports.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { pgbouncer, startPgbouncer } from '../../test/support/pgbouncer.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { median, middleOf, pairedRatio } from '../measure.ts'
import { processorTimeOf } from '../processor-time.ts'
import { type Line, type Suite, time } from '../suite.ts'
import { makeTurn, workId } from '../workload.ts'

/** The same store directly and through PgBouncer in transaction mode. The two alternate in one process. */

const connections = 10
const conversations = 8
const groups = 8

type Work = (store: Store, caller: number) => Promise<unknown>

const main = (i: number) => ({ conversationId: workId(i) as ConversationId, name: 'main' })

export const poolerSuite: Suite = {
  name: 'pooler',
  when: 'byName',
  tasks: {},
  async run(bench) {
    if (pgbouncer === undefined) return [{ work: 'PgBouncer', ours: 'not installed' }]
    const server = await startPostgres({ fsync: 'on' })
    try {
      const url = await server.createDatabase()
      await using pooler = await startPgbouncer(url, connections)
      await using direct = await openPostgresStore(url, { pool: { max: connections }, indexing: 'manual' })
      await using pooled = await openPostgresStore(pooler.through(url), {
        pool: { max: connections },
        indexing: 'manual',
      })
      await using used = await processorTimeOf([url])
      let turn = 0
      const heads: (MessageId | null)[] = []
      const append: Work = async (store, i) => {
        const { key, model, usage, messages } = makeTurn(turn++)
        const step = { key, step: 0, model, usage }
        heads[i] = (await store.append(main(i), heads[i] ?? null, messages, { turn: step })).head
      }
      const tail: Work = (store, i) => store.tail(heads[i]!, { messages: 40 })
      const resume: Work = async (store, i) => {
        const { branch } = await store.findOrCreate(`work:${i}`)
        await store.tail(branch.head!, { messages: 40 })
      }
      for (let i = 0; i < conversations; i++) {
        await direct.create({ id: workId(i) as ConversationId, key: `work:${i}` })
        for (let n = 0; n < 20; n++) await append(direct, i)
      }
      const line = async (work: string, callers: number, one: Work): Promise<Line> => {
        const took = { direct: [] as number[][], pooled: [] as number[][] }
        const busy = { direct: [] as number[], pooled: [] as number[] }
        const stores = { direct, pooled }
        for (const store of [direct, pooled]) await perCall(store, one, callers)
        for (let round = 0; round < bench.scale.rounds; round++) {
          for (const series of Object.values(took)) series.push([])
          for (let group = 0; group < groups; group++) {
            const order = ['direct', 'pooled'] as const
            for (const name of group % 2 === 0 ? order : order.toReversed()) {
              const before = await used?.read()
              took[name][round]!.push(await perCall(stores[name], one, callers))
              busy[name].push(((await used?.read()) ?? Number.NaN) - (before ?? 0))
            }
          }
        }
        const share = median(busy.pooled) / median(busy.direct)
        return {
          work: `PostgreSQL: ${work}, ${callers} callers, through PgBouncer ÷ directly`,
          floor: time(middleOf(took.direct)),
          ours: time(middleOf(took.pooled)),
          ratio: pairedRatio(took.pooled, took.direct),
          goal: 1.5,
          ...(Number.isNaN(share)
            ? {}
            : { note: `processor time of client and server: ${share.toFixed(2)}` }),
          why:
            'each request passes through one more process, which reads and writes it: 50 to 130 µs of its ' +
            'processor time, and two more switches between processes.',
        }
      }
      const lines: Line[] = []
      for (const callers of [1, 8]) {
        lines.push(await line('append a turn', callers, append))
        lines.push(await line('tail of 40 messages', callers, tail))
        lines.push(await line('find and tail', callers, resume))
      }
      return lines
    } finally {
      await server.stop()
    }
  },
}

/** Microseconds per call, while `callers` call at the same time. */
async function perCall(store: Store, work: Work, callers: number): Promise<number> {
  const each = Math.ceil(80 / callers)
  const start = performance.now()
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      for (let i = 0; i < each; i++) await work(store, caller)
    }),
  )
  return ((performance.now() - start) * 1_000) / (callers * each)
}
