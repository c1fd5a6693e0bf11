import { describe, expect, it } from 'vitest'
import { MisconfiguredError, SchemaTooNewError } from '../../../src/core/errors.ts'
import type { Migration } from '../../../src/stores/engine/schema.ts'
import { openPostgresStore, postgresStore } from '../../../src/stores/postgres/index.ts'
import { migrateDatabase, newestVersion, schemaVersion } from '../../../src/stores/postgres/migrate.ts'
import { migrations } from '../../../src/stores/postgres/migrations.ts'
import { freshDatabase, openPool } from './database.ts'

const tables = `
  select string_agg(relname, ' ' order by relname) as names from pg_class
  where relnamespace = to_regnamespace('skein')`

describe('migrating', () => {
  it('creates the tables once and does nothing the second time', async () => {
    const pool = openPool(await freshDatabase())
    expect(await schemaVersion(pool)).toBe(0)
    expect(await migrateDatabase(pool)).toBe(newestVersion)
    const made = await pool.query(tables)
    expect(await migrateDatabase(pool)).toBe(newestVersion)
    expect(await schemaVersion(pool)).toBe(newestVersion)
    expect((await pool.query(tables)).rows).toEqual(made.rows)
  })

  it('applies each step once, however many processes start at the same time', async () => {
    for (let round = 0; round < 3; round++) {
      const url = await freshDatabase()
      const counted: Migration[] = [
        {
          version: 1,
          name: 'one',
          sql: 'create table skein.steps (n int); insert into skein.steps values (1)',
        },
        { version: 2, name: 'two', sql: 'insert into skein.steps values (2)' },
      ]
      const pools = Array.from({ length: 8 }, () => openPool(url, { max: 1 }))
      const versions = await Promise.all(pools.map(pool => migrateDatabase(pool, counted)))
      expect(versions).toEqual(Array(8).fill(2))
      const { rows } = await pools[0]!.query('select n from skein.steps order by n')
      expect(rows).toEqual([{ n: 1 }, { n: 2 }])
      await Promise.all(pools.map(pool => pool.end()))
    }
  })

  it('leaves nothing of a failed step and continues from there', async () => {
    const pool = openPool(await freshDatabase())
    const bad = [
      ...migrations,
      { version: 99, name: 'bad', sql: 'create table skein.half (n int); select 1/0' },
    ]
    await expect(migrateDatabase(pool, bad)).rejects.toMatchObject({ cause: { code: '22012' } })
    expect((await pool.query(tables)).rows).toEqual([{ names: null }])
    expect(await migrateDatabase(pool)).toBe(newestVersion)
    await expect(migrateDatabase(pool, bad)).rejects.toMatchObject({ cause: { code: '22012' } })
    expect(await schemaVersion(pool)).toBe(newestVersion)
  })

  it('refuses a newer schema without writing', async () => {
    const url = await freshDatabase()
    const pool = openPool(url)
    await migrateDatabase(pool)
    await pool.query('update skein.schema_version set version = 1000')
    const before = await pool.query('select xmin::text, * from skein.schema_version')
    const refused = { name: 'SchemaTooNewError', found: 1000, known: newestVersion }
    await expect(migrateDatabase(pool)).rejects.toMatchObject(refused)
    await expect(openPostgresStore(url)).rejects.toBeInstanceOf(SchemaTooNewError)
    await expect(postgresStore(pool, { schema: 'check' })).rejects.toBeInstanceOf(SchemaTooNewError)
    expect((await pool.query('select xmin::text, * from skein.schema_version')).rows).toEqual(before.rows)
  })

  it('needs only read access if there is nothing to do', async () => {
    const url = await freshDatabase()
    await migrateDatabase(openPool(url))
    const readOnly = new URL(url)
    readOnly.searchParams.set('options', '-c default_transaction_read_only=on')
    expect(await migrateDatabase(openPool(readOnly.href))).toBe(newestVersion)
  })
})

describe('the schema', () => {
  it('has no table that accepts a row without a tenant, and orders every text by bytes', async () => {
    const pool = openPool(await freshDatabase())
    await migrateDatabase(pool)
    const { rows } = await pool.query(`
      select c.relname as name, a.attname as first, a.atttypid::regtype::text as type, a.attnotnull as needed
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum = 1
      where c.relnamespace = 'skein'::regnamespace and c.relkind = 'r' and c.relname <> 'schema_version'`)
    expect(rows.length).toBeGreaterThan(10)
    for (const row of rows) expect(row).toMatchObject({ first: 'tenant', type: 'skein.tenant', needed: true })
    const state = (tenant: string | null) =>
      pool.query('insert into skein.state values ($1, $2, 0)', [tenant, 'x'])
    await expect(state('')).rejects.toMatchObject({ code: '23514' })
    await expect(state(null)).rejects.toMatchObject({ code: '23502' })
    const foreign = await pool.query(`
      select c.relname, a.attname from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      join pg_collation l on l.oid = a.attcollation
      where c.relnamespace = 'skein'::regnamespace and c.relkind = 'r' and l.collname <> 'C'`)
    expect(foreign.rows).toEqual([])
  })

  it('has the tenant in every index except the shared index of words', async () => {
    const pool = openPool(await freshDatabase())
    await migrateDatabase(pool)
    const { rows } = await pool.query(`
      select indexname as name, indexdef as text from pg_indexes
      where schemaname = 'skein' and tablename <> 'schema_version'`)
    const without = rows
      .filter(({ text }) => !/USING btree \(.*\btenant\b.*\)/.test(text))
      .map(({ name }) => name)
    // A token is found by its hash, and names its tenant.
    expect(without.toSorted()).toEqual(['search_tsv', 'tokens_pkey'])
  })
})

describe('a borrowed pool', () => {
  it('stays open when the store is closed', async () => {
    const pool = openPool(await freshDatabase())
    const store = await postgresStore(pool)
    const { conversation } = await store.create({ title: 'Kept' })
    await store.close()
    expect((await pool.query('select title from skein.conversations')).rows).toEqual([{ title: 'Kept' }])
    const again = await postgresStore(pool, { schema: 'check' })
    expect((await again.getConversation(conversation.id)).title).toBe('Kept')
    expect(await again.schemaVersion()).toBe(newestVersion)
  })

  it('is only checked with the option schema: check', async () => {
    const pool = openPool(await freshDatabase())
    await expect(postgresStore(pool, { schema: 'check' })).rejects.toBeInstanceOf(MisconfiguredError)
    expect((await pool.query(tables)).rows).toEqual([{ names: null }])
  })
})

it('refuses an empty tenant name', async () => {
  const pool = openPool(await freshDatabase())
  for (const tenant of ['', 'a\0b', 'x'.repeat(513), '\ud800']) {
    await expect(postgresStore(pool, { tenant })).rejects.toMatchObject({ code: 'invalid', field: 'tenant' })
  }
})
