import BetterSqlite3 from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BranchRef } from '../../src/core/branch.ts'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import type { SaveItem, Store } from '../../src/core/ports.ts'
import { compileQuery } from '../../src/stores/sqlite/dialect.ts'
import { migrateFile } from '../../src/stores/sqlite/migrate.ts'
import { queries } from '../../src/stores/sqlite/queries/index.ts'
import { say } from '../../src/testing/contract/build.ts'
import { countRows, meterPostgres, meterSqlite, type RowMeter } from '../support/row-meter.ts'
import { freshDatabase } from './postgres/database.ts'

/** Settled 4: a tail does not read the rest. Measured in rows that the engine steps over, on three
 *  trees. */
const depth = 100_000

/** Rows that a tail reads at once inside a run, by which it may exceed its size. */
const step = 128

/** For the lookup by id, the parent's id, an open turn … */
const few = 12

const drivers = [
  { name: 'SQLite', open: meterSqlite },
  { name: 'PostgreSQL', open: async () => meterPostgres(await database) },
] as const
const database = freshDatabase()

async function appendMany(store: Store, ref: BranchRef, from: MessageId | null, count: number) {
  let head = from
  const ids: MessageId[] = []
  for (let i = 0; i < count; i += 1_000) {
    const messages = Array.from({ length: Math.min(1_000, count - i) }, (_, n) =>
      say(`message ${i + n}`, (i + n) % 2 === 0 ? 'user' : 'assistant'),
    )
    const appended = await store.append(ref, head, messages)
    head = appended.head
    ids.push(...appended.ids)
  }
  return ids
}

/** Branches that are written alternately, so that no message directly follows its parent. Returns their
 *  ends. */
async function interleave(store: Store, id: ConversationId, lines: number, length: number) {
  const items: SaveItem[] = []
  for (let i = 0; i < lines * length; i++) {
    items.push({ message: say(`m${i}`), parent: i < lines ? null : { item: i - lines } })
  }
  const ids = await store.save(id, items)
  return ids.slice(-lines)
}

/** Pages through a conversation, as an export does. */
async function countListed(store: Store, conversationId: ConversationId): Promise<number> {
  let listed = 0
  for (let after: string | null | undefined; after !== null; ) {
    const order = 'ascending'
    const page = await store.listMessages({ conversationId, order, limit: 1_000, ...(after && { after }) })
    listed += page.items.length
    after = page.next
  }
  return listed
}

describe.each(drivers)('on $name', ({ open }) => {
  let meter: RowMeter
  let store: Store
  let id: ConversationId
  let main: BranchRef
  let side: BranchRef
  let ids: MessageId[]

  beforeAll(async () => {
    meter = await open()
    store = meter.store
    const place = await store.create()
    id = place.conversation.id
    main = place.branch
    ids = await appendMany(store, main, null, depth)
  }, 120_000)
  afterAll(() => meter.close())

  const head = () => ids.at(-1)!

  it('the counting is exact and includes rejected rows', async () => {
    expect(await meter.rowsOfText('seq BETWEEN 10 AND 109 AND tokens < 0', id)).toBe(100)
    expect(await meter.rowsOfText(`seq BETWEEN 10 AND 109 AND depth > 99`, id)).toBe(100)
    expect(await meter.rowsOfText('tokens < 0', id)).toBe(depth)
  })

  it('a tail of a path of 100,000 reads its own rows and one step more', async () => {
    for (const messages of [1, 50, 1_000]) {
      const rows = await meter.rowsOf(async () => {
        const tail = await store.tail(head(), { messages })
        expect(tail.messages.length).toBeGreaterThanOrEqual(messages - 1)
        expect(tail.older + tail.messages.length).toBe(depth)
      })
      expect(rows).toBeLessThanOrEqual(messages + messages / 32 + 2 * step + few)
    }
    let given = 0
    const rows = await meter.rowsOf(async () => {
      given = (await store.tail(head(), { tokens: 2_000 })).messages.length
    })
    expect(given).toBeGreaterThan(100)
    expect(rows).toBeLessThanOrEqual(given + given / 32 + 2 * step + few)
  })

  it('a tail costs the same at message 1,000 as at message 100,000', async () => {
    const early = await meter.rowsOf(() => store.tail(ids[999]!, { messages: 50 }))
    const late = await meter.rowsOf(() => store.tail(head(), { messages: 50 }))
    expect(late).toBe(early)
  })

  it('the structure of a path of 100,000 is a few rows', async () => {
    const rows = await meter.rowsOf(async () => expect((await store.listStretches(id)).items).toHaveLength(1))
    expect(rows).toBeLessThanOrEqual(few)
  })

  it('a branch that leaves at message 10 of 100,000 costs only its own messages', async () => {
    side = await store.createBranch(id, ids[9]!, { name: 'side' })
    const own = await appendMany(store, side, ids[9]!, 300)
    const whole = await meter.rowsOf(async () => expect(await pathOf(store, own.at(-1)!)).toHaveLength(310))
    expect(whole).toBeLessThanOrEqual(310 + few)
    // Across the fork, into the path of 100,000.
    const tail = await meter.rowsOf(async () =>
      expect((await store.tail(own.at(-1)!, { messages: 305 })).messages).toHaveLength(304),
    )
    expect(tail).toBeLessThanOrEqual(305 + 2 * step + few)
    const late = await meter.rowsOf(() => store.tail(head(), { messages: 50 }))
    expect(late).toBeLessThanOrEqual(50 + 2 * step + few)
    expect(await meter.rowsOf(() => collectPages(page => store.listStretches(id, page)))).toBeLessThanOrEqual(
      6 * few,
    )
    expect(await meter.rowsOf(() => collectPages(page => store.listBranches(id, page)))).toBeLessThanOrEqual(
      2 * few,
    )
  })

  it('a tail of one of 50 interleaved branches does not read the other 49', async () => {
    const { conversation } = await store.create()
    const ends = await interleave(store, conversation.id, 50, 100)
    for (const messages of [10, 60]) {
      const rows = await meter.rowsOf(async () =>
        expect((await store.tail(ends[7]!, { messages })).messages).toHaveLength(messages),
      )
      // Each message is a run: its row, and its parent's position.
      expect(rows).toBeLessThanOrEqual(3 * messages + few)
    }
    const path = await meter.rowsOf(async () => expect(await pathOf(store, ends[7]!)).toHaveLength(100))
    expect(path).toBeLessThanOrEqual(3 * 100 + few)
    expect(await collectPages(page => store.listStretches(conversation.id, page))).toHaveLength(50 * 100)
  })

  it('an append reads no earlier messages, however many messages and turns there are', async () => {
    const { branch } = await store.create()
    let last: MessageId | null = null
    const takeTurn = async (n: number) => {
      const turn = { key: `turn ${n}`, step: 0 }
      last = (await store.append(branch, last, [say('q'), say('a', 'assistant')], { turn })).head
    }
    for (let n = 0; n < 100; n++) await takeTurn(n)
    expect(await meter.rowsOf(() => takeTurn(100))).toBeLessThanOrEqual(few)
    const whole = await meter.rowsOf(() => store.tail(last!, { messages: 10 }, { wholeTurns: true }))
    expect(whole).toBeLessThanOrEqual(10 + 2 * step + few)
  })

  it('nothing overflows at a depth of 100,000', { timeout: 60_000 }, async () => {
    expect(await pathOf(store, head())).toHaveLength(depth)
    expect((await store.tail(head(), { messages: depth })).messages).toHaveLength(depth)
    expect((await store.tail(head(), { tokens: 2 ** 53 - 1 })).messages).toHaveLength(depth)
    expect(await collectPages(page => store.listBranches(id, page))).toMatchObject([
      { name: 'main' },
      { name: 'side', base: ids[9] },
    ])
    const range = { first: ids[0]!, last: head() }
    const holder = { host: 'h', boot: 'b', pid: 1, startedAt: 1 }
    await store.claimSummary(id, range, holder)
    await store.putSummary(id, { ...range, tokens: 1, text: 'long', holder })
    expect(await countListed(store, id)).toBe(depth + 300)
  })

  it('100,000 levels are deleted at once', { timeout: 60_000 }, async () => {
    const from = [head(), (await store.getBranch(side)).head]
    const deleted = await store.deleteMessages([ids[0]!], { recursive: true })
    expect(deleted).toMatchObject({ deleted: depth + 300, summaries: 1 })
    expect(deleted.moved.map(move => [move.from, move.to])).toEqual(from.map(was => [was, null]))
    expect(await store.getConversation(id)).toMatchObject({ messages: 0, tokens: 0 })
    await store.trash(id)
    expect(await store.purge(id)).toMatchObject({ purged: true })
  })
})

it('on SQLite the counting does not change the plans', async () => {
  const db = new BetterSqlite3(':memory:')
  await migrateFile(db)
  db.function('seen', { varargs: true }, () => 1)
  const planOf = (sql: string) => {
    const rows = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]
    // Rows covered by an index and rows found by it are counted separately.
    return rows.map(row => row.detail.replace('COVERING ', ''))
  }
  const texts = Object.values(queries)
    .flatMap(text => (typeof text === 'function' ? [] : text))
    .map(text => compileQuery(text, () => 'NULL').sql)
  const counted = texts.filter(text => countRows(text) !== text)
  expect(counted.length).toBeGreaterThan(20)
  for (const text of counted) expect(planOf(countRows(text))).toEqual(planOf(text))
  db.close()
})
