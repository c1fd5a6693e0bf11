import BetterSqlite3 from 'better-sqlite3'
import { Pool } from 'pg'
import type { Migration } from '../../src/stores/engine/schema.ts'
import * as postgres from '../../src/stores/postgres/migrate.ts'
import { migrations as postgresMigrations } from '../../src/stores/postgres/migrations.ts'
import * as sqlite from '../../src/stores/sqlite/migrate.ts'
import { migrations as sqliteMigrations } from '../../src/stores/sqlite/migrations.ts'

/** A future version whose migration takes a while: every row gets a new value. */

export const newestVersions = {
  sqlite: sqliteMigrations.at(-1)!.version,
  postgres: postgres.newestVersion,
}

function next(migrations: readonly Migration[], schema: string, numbers: string): readonly Migration[] {
  const sql = `
    CREATE TABLE ${schema}more AS ${numbers};
    ALTER TABLE ${schema}conversations ADD COLUMN more int;
    ALTER TABLE ${schema}messages ADD COLUMN more int;
    UPDATE ${schema}conversations SET more = 1;
    UPDATE ${schema}messages SET more = 1;`
  return [...migrations, { version: migrations.at(-1)!.version + 1, name: 'something new', sql }]
}

const counting = `WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100000)`
const sqliteNext = next(sqliteMigrations, 'skein_', `${counting} SELECT i FROM n`)
const postgresNext = next(postgresMigrations, 'skein.', 'SELECT generate_series(1, 100000) AS i')

/** Migrates a store to that version. */
export async function migrateToNext(target: string): Promise<void> {
  if (target.startsWith('postgres')) {
    const pool = new Pool({ connectionString: target })
    await postgres.migrateDatabase(pool, postgresNext).finally(() => pool.end())
    return
  }
  const db = new BetterSqlite3(target)
  await sqlite.migrateFile(db, sqliteNext).finally(() => db.close())
}

/** Its schema version, and the number of rows with the new value. */
export async function lookAt(target: string): Promise<{ version: number; renewed: number | null }> {
  const count = (schema: string) => `SELECT count(*) AS renewed FROM ${schema}messages WHERE more = 1`
  if (target.startsWith('postgres')) {
    const pool = new Pool({ connectionString: target })
    const version = await postgres.schemaVersion(pool)
    const { rows } = version > newestVersions.postgres ? await pool.query(count('skein.')) : { rows: [] }
    await pool.end()
    return { version, renewed: rows[0] ? Number(rows[0].renewed) : null }
  }
  const db = new BetterSqlite3(target)
  const version = sqlite.schemaVersion(db)
  const renewed =
    version > newestVersions.sqlite ? (db.prepare(count('skein_')).pluck().get() as number) : null
  db.close()
  return { version, renewed }
}

/** Lets this version of Skein read the data of the next one: it does not know the new value, and does not
 *  need it. */
export async function claimVersion(target: string, version: number): Promise<void> {
  if (target.startsWith('postgres')) {
    const pool = new Pool({ connectionString: target })
    await pool.query('UPDATE skein.schema_version SET version = $1', [version])
    await pool.end()
    return
  }
  const db = new BetterSqlite3(target)
  db.prepare(`UPDATE skein_state SET value = ? WHERE name = 'schema'`).run(version)
  db.close()
}

if (process.argv[1] === import.meta.filename) {
  process.send!('begun')
  await migrateToNext(process.argv[2]!)
  process.disconnect()
}
