import { describe, expect, it } from 'vitest'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { removals, tell, why } from '../told.ts'
import { freshDatabase, openPool } from './database.ts'

const url = await freshDatabase()
const pool = openPool(url)

/** The tables of which a row, written as text, contains one of these words. */
async function tablesWith(words: readonly string[]): Promise<string[]> {
  const tables = await pool.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'skein'::regnamespace AND relkind = 'r'`,
  )
  const found: string[] = []
  for (const { name } of tables.rows) {
    // Bytes are written as hexadecimal digits.
    const forms = words.flatMap(word => [word.toLowerCase(), Buffer.from(word).toString('hex')])
    const { rows } = await pool.query(
      `SELECT 1 FROM skein.${name} t WHERE EXISTS (
        SELECT FROM unnest($1::text[]) w WHERE strpos(lower(t::text), w) > 0) LIMIT 1`,
      [forms],
    )
    if (rows.length > 0) found.push(name)
  }
  return found
}

/** Whether the planner's statistics quote one of these words. */
async function isQuoted(words: readonly string[]): Promise<boolean> {
  const { rows } = await pool.query(
    `SELECT 1 FROM pg_stats s WHERE schemaname = 'skein' AND EXISTS (
      SELECT FROM unnest($1::text[]) w WHERE strpos(lower(s::text), w) > 0) LIMIT 1`,
    [words.map(word => word.toLowerCase())],
  )
  return rows.length > 0
}

describe.each(Object.entries(removals))('%s', (name, remove) => {
  it('removes the words from every table, and names the places that the server keeps', async () => {
    await using store = await openPostgresStore(url)
    const told = await tell(store, `${name}Pg`)
    await store.indexSearch()
    expect(await tablesWith(told.words)).toEqual(expect.arrayContaining(['messages', 'search', 'blobs']))
    const { remains } = await remove(store, told)
    expect(remains).toEqual(['dead_rows', 'log', 'backups'])
    expect(await tablesWith(told.words)).toEqual([])
    for (const word of told.words) expect((await store.search(word)).items).toEqual([])
  })

  it('removes the words from the parts of a large blob', async () => {
    await using store = await openPostgresStore(url)
    const { conversation, branch } = await store.create()
    const word = `parted${name}`.toLowerCase()
    const content = `${word} ${'large '.repeat(750_000)}${word}`
    const { ids } = await store.append(branch, null, [{ role: 'user', content }])
    expect(await tablesWith([word])).toContain('blob_parts')
    await remove(store, { id: conversation.id, ids, words: [word] })
    expect(await tablesWith([word])).toEqual([])
  })
})

it('compacts dead rows and the statistics that quote them', async () => {
  await using store = await openPostgresStore(url)
  const told = await tell(store, 'statistics')
  await store.indexSearch()
  await pool.query('ANALYZE')
  expect(await isQuoted(told.words)).toBe(true)
  await store.eraseMessages(told.ids, why)
  const dead = `SELECT pg_relation_size('skein.messages')::int AS bytes`
  const before = (await pool.query<{ bytes: number }>(dead)).rows[0]!.bytes
  const { bytesBefore, bytesAfter, remains } = await store.compact()
  expect(remains).toEqual(['log', 'backups'])
  expect(bytesAfter).toBeLessThan(bytesBefore)
  expect((await pool.query<{ bytes: number }>(dead)).rows[0]!.bytes).toBeLessThanOrEqual(before)
  expect(await isQuoted(told.words)).toBe(false)
})
