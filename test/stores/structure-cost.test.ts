import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import type { Page } from '../../src/core/listing.ts'
import type { SaveItem, Store } from '../../src/core/ports.ts'
import { say } from '../../src/testing/contract/build.ts'
import { meterPostgres, meterSqlite, type RowMeter } from '../support/row-meter.ts'
import { freshDatabase } from './postgres/database.ts'

/** A page of stretches or branches does not read the other forks. Measured in rows of messages. */
const forks = 1_500
const limit = 10

/** Rows that a stretch takes: its ends, its parent, the next fork, and two to see that its run ends. */
const rowsPerStretch = 16

const database = freshDatabase()
const drivers = [
  { name: 'SQLite', open: () => meterSqlite() },
  { name: 'PostgreSQL', open: async () => meterPostgres(await database) },
] as const

describe.each(drivers)('on $name', ({ open }) => {
  let meter: RowMeter
  let store: Store

  beforeAll(async () => {
    meter = await open()
    store = meter.store
  })
  afterAll(() => meter.close())

  /** The most rows of one page, from the first to the last. */
  async function mostRows(list: (after: string | null) => Promise<Page<unknown>>) {
    let [most, items] = [0, 0]
    let after: string | null = null
    do {
      let page: Page<unknown> | undefined
      const rows = await meter.rowsOf(async () => {
        page = await list(after)
      })
      most = Math.max(most, rows)
      items += page!.items.length
      after = page!.next
    } while (after !== null)
    return { most, items }
  }

  const stretchesOf = (id: ConversationId) =>
    mostRows(after => store.listStretches(id, { limit: 10 * limit, ...(after !== null && { after }) }))

  it('a page of stretches reads its own, of a trunk with a branch at each message', async () => {
    const { conversation, branch } = await store.create()
    const { id } = conversation
    const texts = Array.from({ length: forks }, (_, n) => say(`trunk ${n}`))
    const { ids } = await store.append(branch, null, texts as never)
    const saved = await store.save(
      id,
      ids.map((parent, n) => ({ message: say(`leaf ${n}`), parent })),
    )
    const { most, items } = await stretchesOf(id)
    expect(items).toBe(2 * forks)
    expect(most).toBeLessThanOrEqual(rowsPerStretch * 10 * limit)

    for (const n of Array.from({ length: 40 }, (_, i) => i * 35))
      await store.createBranch(id, saved[n]!, { name: `b${n}` })
    const page = await mostRows(after => store.listBranches(id, { limit, ...(after !== null && { after }) }))
    expect(page.items).toBe(41)
    // The first message of its run, its parent, the trunk, and the base, twice if the limit left room.
    expect(page.most).toBeLessThanOrEqual(12 * (limit + 1))
  })

  it('a page of stretches reads few rows to find the end of a long one', async () => {
    const { conversation } = await store.create()
    const { id } = conversation
    const items: SaveItem[] = []
    for (let run = 0; run < 120; run++)
      for (let n = 0; n < 60; n++)
        items.push({ message: say(`${run}/${n}`), parent: n === 0 ? null : { item: items.length - 1 } })
    await store.save(id, items)
    const { most, items: count } = await stretchesOf(id)
    expect(count).toBe(120)
    // Two rows for each of at most 2 + 2 log₂ 60 steps. Each stretch has 60 messages.
    expect(most).toBeLessThanOrEqual((rowsPerStretch + 28) * 10 * limit)
  })

  it('a page of branches reads the runs between them and the trunk, and each of them once', async () => {
    const { conversation, branch } = await store.create()
    const { id } = conversation
    const { head } = await store.append(branch, null, [say('root')])
    // Each run of the chain leaves the one before, and another message beside it.
    const items: SaveItem[] = []
    for (let n = 0; n < forks; n++) {
      const parent: MessageId | { item: number } = n === 0 ? head : { item: 2 * n - 2 }
      items.push({ message: say(`chain ${n}`), parent }, { message: say(`beside ${n}`), parent })
    }
    const saved = await store.save(id, items)
    const chain = (n: number) => saved[2 * n]!
    const beside = (n: number) => saved[2 * n + 1]!
    for (let n = 1; n <= limit; n++) await store.createBranch(id, chain(forks - n), { name: `deep ${n}` })
    // Each run is its first message and the parent of that, twice near the heads.
    const far = await meter.rowsOf(() => store.listBranches(id, { limit: limit + 1 }))
    expect(far).toBeGreaterThan(2 * forks - 100)
    expect(far).toBeLessThanOrEqual(2.5 * forks)

    await store.moveBranch(branch, head, chain(forks - 1))
    for (let n = 1; n <= limit; n++) await store.createBranch(id, beside(forks - n), { name: `near ${n}` })
    const { next } = await store.listBranches(id, { limit: limit + 1 })
    const near = await meter.rowsOf(() => store.listBranches(id, { after: next! }))
    expect(near).toBeLessThanOrEqual(30 * limit)
  })
})
