import { setTimeout as pause } from 'node:timers/promises'
import { SchemaTooNewError } from '../../core/errors.ts'
import type { Migration } from '../engine/schema.ts'
import { stateOf, translate } from './errors.ts'
import { migrations as released } from './migrations.ts'
import { type PooledConnection, type PostgresPool, withConnection } from './pool.ts'
import { bind, prepare } from './prepared.ts'

/** The row with the version is also the lock for changing it. This works through any connection pooler, and
 *  the lock ends with the process that holds it. */
const opening = `
  BEGIN;
  CREATE SCHEMA IF NOT EXISTS skein;
  CREATE TABLE IF NOT EXISTS skein.schema_version (one int PRIMARY KEY CHECK (one = 1), version int NOT NULL);
  INSERT INTO skein.schema_version (one, version) VALUES (1, 0) ON CONFLICT DO NOTHING`

const readVersion = bind(prepare(`SELECT version FROM skein.schema_version`), {})
const lockVersion = bind(prepare(`SELECT version FROM skein.schema_version FOR UPDATE`), {})
const putVersion = prepare(`UPDATE skein.schema_version SET version = @version::int`)

/** How often to retry if other processes start at the same time. */
const mostTries = 30

/** The newest version that this program knows. */
export const newestVersion = released.at(-1)!.version

/** The schema version of a database, or 0 if it contains no store. */
export async function schemaVersion(pool: PostgresPool): Promise<number> {
  return withConnection(pool, 'unnamed', versionOn).catch(error => {
    throw translate(error)
  })
}

/** Migrates a database to the newest version and returns it. Everything happens in one transaction, and any
 *  number of processes may try at once. Throws SchemaTooNewError, without writing, if a newer version of
 *  Skein wrote it. */
export async function migrateDatabase(
  pool: PostgresPool,
  migrations: readonly Migration[] = released,
): Promise<number> {
  const newest = migrations.at(-1)?.version ?? 0
  for (let tries = 1; ; tries++) {
    try {
      return await withConnection(pool, 'unnamed', link => migrateOn(link, migrations, newest))
    } catch (error) {
      if (!isLostStart(error) || tries === mostTries) throw translate(error)
    }
    await pause(Math.random() * 20 * tries)
  }
}

async function migrateOn(
  link: PooledConnection,
  migrations: readonly Migration[],
  newest: number,
): Promise<number> {
  // First without a lock: usually there is nothing to do, and a restricted role may not be allowed more.
  if ((await checkedVersion(versionOn(link), newest)) === newest) return newest
  try {
    await link.execute(opening)
    const current = await checkedVersion(versionIn(link.run([lockVersion])), newest)
    for (const { version, sql } of migrations) {
      if (version <= current) continue
      await link.execute(sql)
      await link.run([bind(putVersion, { version })])
    }
    await link.execute('COMMIT')
    return newest
  } catch (error) {
    await link.execute('ROLLBACK').catch(link.spoil)
    throw error
  }
}

async function versionOn(link: PooledConnection): Promise<number> {
  try {
    return await versionIn(link.run([readVersion]))
  } catch (error) {
    if (isWithoutStore(error)) return 0
    throw error
  }
}

/** Whether the table or its schema does not exist. */
function isWithoutStore(error: unknown): boolean {
  const state = stateOf(error)
  return state === '42P01' || state === '3F000'
}

async function versionIn(answer: ReturnType<PooledConnection['run']>): Promise<number> {
  const [result] = await answer
  return (result!.rows[0]?.version as number | undefined) ?? 0
}

async function checkedVersion(answer: Promise<number>, newest: number): Promise<number> {
  const found = await answer
  if (found > newest) throw new SchemaTooNewError(found, newest)
  return found
}

/** Whether another process was creating the same objects: `IF NOT EXISTS` checks before it creates. */
function isLostStart(error: unknown): boolean {
  const state = stateOf(error)
  return state === '23505' || state === '42P06' || state === '42P07' || state === '40P01'
}
