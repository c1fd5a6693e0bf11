import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import type { SaveItem, Store } from '../../src/core/ports.ts'
import { type StatementTrace, statementChannel } from '../../src/system/debug.ts'
import { say } from '../../src/testing/contract/build.ts'
import { meterPostgres, meterSqlite, type RowMeter } from '../support/row-meter.ts'
import { freshDatabase } from './postgres/database.ts'

/** A section of a path takes time in proportion to the section, on the trees of settled 4, and facts about
 *  many conversations take the same number of statements as those about few. */
const depth = 100_000

/** A message that begins a run needs its row, two to find its parent, and three for its siblings. */
const rowsPerMessage = 6

/** For the lookup by id, the turns, the message before the section … */
const few = 12

const database = freshDatabase()
const drivers = [
  { name: 'SQLite', open: meterSqlite },
  { name: 'PostgreSQL', open: async () => meterPostgres(await database) },
] as const

/** Counts the statements that run while `work` does. */
async function countStatements(work: () => Promise<unknown>): Promise<number> {
  let count = 0
  const see = (trace: unknown) => {
    count += (trace as StatementTrace).statements.filter(
      name => !/^(BEGIN|COMMIT|ROLLBACK)/.test(name),
    ).length
  }
  statementChannel.subscribe(see)
  await work()
  statementChannel.unsubscribe(see)
  return count
}

describe.each(drivers)('on $name', ({ open }) => {
  let meter: RowMeter
  let store: Store
  let id: ConversationId
  let ids: MessageId[]

  beforeAll(async () => {
    meter = await open()
    store = meter.store
    const { conversation, branch } = await store.create()
    id = conversation.id
    ids = []
    let head: MessageId | null = null
    for (let i = 0; i < depth; i += 1_000) {
      const messages = Array.from({ length: 1_000 }, (_, n) => say(`message ${i + n}`))
      const turn = { key: `turn ${i}`, step: 0 }
      const appended = await store.append(branch, head, messages, { turn })
      head = appended.head
      ids.push(...appended.ids)
    }
  }, 120_000)
  afterAll(() => meter.close())

  const rowsOfSection = (end: MessageId, options: { from?: number; before?: number; limit: number }) =>
    meter.rowsOf(async () => {
      const { messages } = await store.readPathSection(end, options)
      expect(messages).toHaveLength(options.limit)
    })

  it('a section of a path of 100,000 reads its own rows, wherever it is', async () => {
    for (const limit of [1, 50, 1_000]) {
      for (const place of [{}, { from: 0 }, { from: 50_000 }, { before: 99_000 }])
        expect(await rowsOfSection(ids.at(-1)!, { ...place, limit })).toBeLessThanOrEqual(
          rowsPerMessage * limit + few,
        )
    }
  })

  it('a section of a branch that leaves at message 10 of 100,000 reads only its own rows', async () => {
    const items: SaveItem[] = Array.from({ length: 300 }, (_, n) => ({
      message: say(`side ${n}`),
      parent: n === 0 ? ids[9]! : { item: n - 1 },
    }))
    const side = await store.save(id, items)
    for (const from of [0, 5, 250])
      expect(await rowsOfSection(side.at(-1)!, { from, limit: 50 })).toBeLessThanOrEqual(
        rowsPerMessage * 50 + few,
      )
    // The fork is found by its index.
    const { siblings } = await store.readPathSection(side.at(-1)!, { from: 0, limit: 50 })
    expect(siblings).toEqual([{ messageId: side[0], siblings: [ids[10], side[0]] }])
  })

  it('a section of one of 50 interleaved branches does not read the other 49', async () => {
    const { conversation } = await store.create()
    const items = Array.from({ length: 5_000 }, (_, n): SaveItem => {
      return { message: say(`m${n}`), parent: n < 50 ? null : { item: n - 50 } }
    })
    const end = (await store.save(conversation.id, items)).at(-1)!
    // Not from the roots on, which are siblings of each other.
    expect(await rowsOfSection(end, { limit: 50 })).toBeLessThanOrEqual(rowsPerMessage * 50 + few)
    // Each message is a run. The walk to an earlier section reads two rows of each run in between.
    const early = await rowsOfSection(end, { from: 1, limit: 20 })
    expect(early).toBeLessThanOrEqual(2 * 79 + rowsPerMessage * 20 + few)
  })

  it('facts of 50 conversations take the statements of 5, and no more rows each', async () => {
    for (let n = 0; n < 50; n++) {
      const { branch } = await store.create()
      const turn = {
        key: 't',
        step: 0,
        status: 'open',
        holder: { host: 'h', boot: 'b', pid: 1, startedAt: 1 },
      } as const
      await store.append(branch, null, [say('x'.repeat(20_000)), say('y'.repeat(20_000), 'assistant')], {
        turn,
      })
    }
    const { items } = await store.listConversations({ limit: 50 })
    const countOf = (count: number) =>
      countStatements(async () => {
        expect(await store.readOverviews(items.slice(0, count))).toHaveLength(count)
      })
    const [of5, of50] = [await countOf(5), await countOf(50)]
    expect(of50).toBe(of5)
    expect(of5).toBeLessThanOrEqual(4)
    expect(await countStatements(() => store.versionsOf(items.map(item => item.id)))).toBe(1)
    expect(await countStatements(() => store.uniqueLengths(items.map(item => item.id)))).toBe(1)
  })

  it('facts of a conversation of 100,000 messages read a few of its rows', async () => {
    const { items } = await store.listConversations({ limit: 1_000 })
    const long = items.filter(item => item.id === id)
    const rows = await meter.rowsOf(async () => {
      expect(await store.readOverviews(long)).toMatchObject([{ pathMessages: depth, branches: 1 }])
    })
    // PostgreSQL may read its 100 turns to find the open ones.
    expect(rows).toBeLessThanOrEqual(50 + 100 + few)
  })
})
