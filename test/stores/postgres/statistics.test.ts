import { Pool } from 'pg'
import { expect, it } from 'vitest'
import { append } from '../../../src/stores/contract/build.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { meterPostgres } from '../../support/row-meter.ts'
import { freshDatabase } from './database.ts'

it.each(['force_custom_plan', 'force_generic_plan'] as const)(
  'reads no more for a tenant that the statistics do not know: %s',
  async plans => {
    const url = await freshDatabase()
    const pool = new Pool({ connectionString: url, max: 1 })
    const earlier = await postgresStore(pool, { tenant: 'earlier' })
    await append(earlier, (await earlier.create()).branch, 'wren one', 'wren two')
    await pool.query('VACUUM ANALYZE skein.messages, skein.search, skein.conversations, skein.branches')
    await pool.end()
    const meter = await meterPostgres(url, plans)
    try {
      const { branch } = await meter.store.create()
      const lines = Array.from({ length: 800 }, (_, n) => `finch ${n}`)
      const { ids } = await append(meter.store, branch, 'finch', ...lines)
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
