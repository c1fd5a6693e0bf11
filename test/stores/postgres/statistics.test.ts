import { Pool } from 'pg'
import { expect, it } from 'vitest'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { appendTexts } from '../../../src/testing/contract/build.ts'
import { meterPostgres } from '../../support/row-meter.ts'
import { freshDatabase } from './database.ts'

it.each(['force_custom_plan', 'force_generic_plan'] as const)(
  'reads no more rows for a tenant that the statistics do not know: %s',
  async plans => {
    const url = await freshDatabase()
    const pool = new Pool({ connectionString: url, max: 1 })
    const earlier = await postgresStore(pool, { tenant: 'earlier' })
    await appendTexts(earlier, (await earlier.create()).branch, 'wren one', 'wren two')
    await pool.query('VACUUM ANALYZE skein.messages, skein.search, skein.conversations, skein.branches')
    await pool.end()
    const meter = await meterPostgres(url, plans)
    try {
      const { branch } = await meter.store.create()
      const lines = Array.from({ length: 800 }, (_, n) => `finch ${n}`)
      const { ids } = await appendTexts(meter.store, branch, 'finch', ...lines)
      await meter.store.search('finch', { limit: 1 })
      // A search may read each message a few times, but not all of them for each hit.
      const all = ids.length
      expect(await meter.rowsOf(() => meter.store.search('finch', { limit: 100 }))).toBeLessThan(8 * all)
      expect(await meter.rowsOf(() => meter.store.tail(ids[all - 1]!, { messages: 10 }))).toBeLessThan(
        all / 4,
      )
    } finally {
      await meter.close()
    }
  },
)

it('lists by a tag, a label or a key prefix without a subquery for each conversation', async () => {
  const pool = new Pool({ connectionString: await freshDatabase(), max: 4 })
  const earlier = await postgresStore(pool, { tenant: 'earlier' })
  await earlier.create({ key: 'k', tags: ['t'] })
  await pool.query('ANALYZE skein.conversations, skein.branches, skein.tags')
  const store = await postgresStore(pool)
  // Fewer rows would fit into a few pages, which are correctly read whole.
  const all = 700
  const numbers = Array.from({ length: all }, (_, n) => n)
  await Promise.all(numbers.map(n => store.create({ key: `c${n}`, tags: ['many'], label: `l${n}` })))
  const byLabel = [{ labelPrefix: 'l29' }, { labelPrefix: 'l' }]
  for (const filter of [
    { tag: 'many' },
    { tag: 'none' },
    { keyPrefix: 'c29' },
    { keyPrefix: 'c' },
    ...byLabel,
  ]) {
    const before = await rowsRead()
    await store.listConversations({ ...filter, limit: 20 })
    expect((await rowsRead()) - before, JSON.stringify(filter)).toBeLessThan(8 * all)
  }
  await pool.end()

  async function rowsRead(): Promise<number> {
    // Makes every connection report its counts now.
    const clients = await Promise.all(numbers.slice(0, 4).map(() => pool.connect()))
    for (const client of clients) await client.query('SELECT pg_stat_force_next_flush()')
    const { rows } = await clients[0]!.query<{ rows: string }>(`
      SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables) + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)
        AS rows`)
    for (const client of clients) client.release()
    return Number(rows[0]!.rows)
  }
})
