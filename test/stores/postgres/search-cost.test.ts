import { expect, it } from 'vitest'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { say } from '../../../src/testing/contract/build.ts'
import { freshDatabase, openPool } from './database.ts'

/** A search of one user does not read the entries of others. Measured by the counters of the server. */

const users = 30
const conversationsEach = 2
const messagesEach = 20

it('searches in a few conversations without reading the entries of others', async () => {
  const pool = openPool(await freshDatabase(), { max: 1 })
  const store = await postgresStore(pool, { indexing: 'manual' })
  // New statistics, at any moment, change what the server reads.
  await pool.query('ALTER TABLE skein.search SET (autovacuum_enabled = false)')
  for (let n = 0; n < conversationsEach; n++)
    for (let user = 0; user < users; user++) {
      const { branch } = await store.findOrCreate(`user:${user}:${n}`)
      const words = Array.from({ length: messagesEach }, (_, i) => say(`a common word ${user} ${n} ${i}`))
      await store.append(branch, null, words)
    }
  await store.indexSearch()

  const entriesRead = async (work: () => Promise<unknown>): Promise<number> => {
    const before = await readSoFar()
    await work()
    return (await readSoFar()) - before
  }
  const readSoFar = async () => {
    await pool.query('SELECT pg_stat_force_next_flush()')
    const { rows } = await pool.query<{ rows: string }>(
      `SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname = 'search')
        + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'search') AS rows`,
    )
    return Number(rows[0]!.rows)
  }

  const own = conversationsEach * messagesEach
  const find = async () => (await store.search('common', { keyPrefix: 'user:7:', limit: 20 })).items
  expect(await find()).toHaveLength(20)
  const hits = await store.search('common', { keyPrefix: 'user:7:', limit: 100 })
  expect(hits.items.map(({ snippet }) => snippet.text).filter(text => text.includes(' 7 '))).toHaveLength(own)
  // Once to find them, and once to count those that are not in the index.
  expect(await entriesRead(find)).toBeLessThanOrEqual(3 * own)
  // The control: a search without the filter reads many of all.
  expect(await entriesRead(() => store.search('common 3 19', {}))).toBeGreaterThan(3 * own)
})

it('finds the unindexed messages without reading other conversations, also if the server expects many', async () => {
  const pool = openPool(await freshDatabase(), { max: 1 })
  const store = await postgresStore(pool, { indexing: 'manual' })
  await pool.query('ALTER TABLE skein.conversations SET (autovacuum_enabled = false)')
  const { branch } = await store.create()
  const { head } = await store.append(branch, null, [say('a common word')])
  // Many that are not indexed, for the statistics of the server.
  const others = 3_000
  await pool.query(`
    INSERT INTO skein.conversations
    SELECT (jsonb_populate_record(c, jsonb_build_object('id', gen_random_uuid()))).*
    FROM skein.conversations c, generate_series(1, ${others})`)
  await pool.query('ANALYZE skein.conversations')
  await pool.query('UPDATE skein.conversations SET indexed_seq = next_seq')
  await store.append(branch, head, [say('another common word')])

  const rowsRead = async () => {
    await pool.query('SELECT pg_stat_force_next_flush()')
    const { rows } = await pool.query<{ rows: string }>(
      `SELECT seq_tup_read + idx_tup_fetch AS rows FROM pg_stat_user_tables WHERE relname = 'conversations'`,
    )
    return Number(rows[0]!.rows)
  }
  const search = async () => expect((await store.search('another common word')).items).toHaveLength(1)
  await search()
  const before = await rowsRead()
  await search()
  expect((await rowsRead()) - before).toBeLessThan(50)
})

it.each([99, 100, 101])('finds the unindexed messages of %i conversations', async count => {
  const store = await postgresStore(openPool(await freshDatabase()), { indexing: 'manual' })
  for (let n = 0; n < count; n++) {
    const { branch } = await store.create()
    await store.append(branch, null, [say('a common word')])
  }
  const { items, unindexed } = await store.search('common', { limit: 200 })
  expect([items.length, unindexed]).toEqual([count, 0])
})
