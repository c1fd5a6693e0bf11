import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ConversationFilter } from '../../src/core/listing.ts'
import type { Store } from '../../src/core/ports.ts'
import { meterPostgres, meterSqlite, type RowMeter } from '../support/row-meter.ts'
import { freshDatabase } from './postgres/database.ts'

/** A list of one user's conversations does not read those of the other users. Measured in rows of
 *  conversations that the engine reads. */

const users = 110
const each = 10
const limit = 5

const database = freshDatabase()
const tables = ['conversations'] as const
const drivers = [
  { name: 'SQLite', open: () => meterSqlite(tables) },
  { name: 'PostgreSQL', open: async () => meterPostgres(await database, 'force_generic_plan', tables) },
] as const

const narrow: [string, ConversationFilter][] = [
  ['a key prefix', { keyPrefix: 'user:7:' }],
  ['metadata', { metadata: { user: 'u7' } }],
  ['metadata with a common pair', { metadata: { app: 'shop', user: 'u7' } }],
  ['a tag', { tag: 'user-7' }],
  ['a label prefix', { labelPrefix: 'user.7.' }],
  ['a tag and a common key prefix', { tag: 'user-7', keyPrefix: 'user:7:' }],
]

const common: [string, ConversationFilter][] = [
  ['a key prefix', { keyPrefix: 'user:' }],
  ['metadata', { metadata: { app: 'shop' } }],
  ['a tag', { tag: 'shop' }],
  ['a label prefix', { labelPrefix: 'user.' }],
]

async function fill(store: Store): Promise<void> {
  for (let n = 0; n < each; n++) {
    const created = Array.from({ length: users }, (_, user) =>
      store.create({
        title: `${user}/${n}`,
        key: `user:${user}:${n}`,
        metadata: { user: `u${user}`, app: 'shop' },
        tags: [`user-${user}`, 'shop'],
        label: `user.${user}.${n}`,
      }),
    )
    await Promise.all(created)
  }
}

describe.each(drivers)('on $name', ({ open }) => {
  let meter: RowMeter
  let store: Store

  beforeAll(async () => {
    meter = await open()
    store = meter.store
    await fill(store)
  }, 120_000)
  afterAll(() => meter.close())

  const all = async (filter: ConversationFilter, limit: number): Promise<string[]> => {
    const titles: string[] = []
    for (let after: string | null | undefined; after !== null; ) {
      const page = await store.listConversations({ ...filter, limit, ...(after && { after }) })
      titles.push(...page.items.map(({ title }) => title!))
      after = page.next
    }
    return titles
  }

  it.each(narrow)('lists by %s that few have, without reading the others', async (_, filter) => {
    const expected = Array.from({ length: each }, (_, n) => `7/${n}`).toSorted()
    expect((await all(filter, 3)).toSorted()).toEqual(expected)
    // Each match once to sort them, and those of the page.
    const rows = await meter.rowsOf(() => store.listConversations({ ...filter, limit }))
    expect(rows).toBeGreaterThan(0)
    expect(rows).toBeLessThanOrEqual(3 * each)
    expect(await meter.rowsOf(() => store.countConversations(filter))).toBeLessThanOrEqual(2 * each)
    expect(await store.countConversations(filter)).toBe(each)
  })

  it.each(common)('lists by %s that most have, without sorting all of them', async (_, filter) => {
    expect(new Set(await all(filter, 500)).size).toBe(users * each)
    const rows = await meter.rowsOf(() => store.listConversations({ ...filter, limit }))
    // The index of labels is one of conversations.
    expect(rows).toBeLessThanOrEqual(1_001 + 4 * limit)
    expect(await store.countConversations(filter)).toBe(users * each)
  })
})
