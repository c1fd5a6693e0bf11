import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Pool } from 'pg'
import type { ConversationId } from '../../src/core/ids.ts'
import type { Store } from '../../src/core/ports.ts'
import { migrateDatabase } from '../../src/stores/postgres/migrate.ts'
import { migrations } from '../../src/stores/postgres/migrations.ts'

/** Stores as each released version has written them, with one record of each kind, and their expected
 *  contents. `node test/released/make.ts` creates them before a release, and never again. */

/** The schema versions with files here. */
export const releasedVersions = {
  sqlite: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  postgres: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
} as const

/** The expected contents of a store, whatever its schema version. */
export interface Truth {
  readonly ids: readonly ConversationId[]
  readonly records: readonly unknown[]
}

/** Rows of each table of PostgreSQL, each as JSON text: some of its numbers exceed ours. */
export type Tables = Readonly<Record<string, string>>

export const fileOf = (name: string) => join(import.meta.dirname, `${name}.gz`)

function unpack(name: string): Buffer {
  return gunzipSync(readFileSync(fileOf(name)))
}

export function truthOf(engine: 'sqlite' | 'postgres', version: number): Truth {
  return JSON.parse(unpack(`${engine}-${version}.truth.json`).toString()) as Truth
}

/** What a store of version 9 has in one row, in the files with `-large` in their names: the text of the first
 *  of two messages, under the key `large`. */
export const oldLargeText = `pangolin ${'an old large text. '.repeat(330_000)}`

/** Copies the SQLite file of a version to a path. */
export function unpackSqlite(version: number, path: string, kind: '' | '-large' = ''): void {
  writeFileSync(path, unpack(`sqlite-${version}${kind}.db`), { mode: 0o600 })
}

/** Turns an empty PostgreSQL database into one of that version. */
export async function loadPostgres(version: number, pool: Pool, kind: '' | '-large' = ''): Promise<void> {
  await migrateDatabase(pool, migrations.slice(0, version))
  const tables = JSON.parse(unpack(`postgres-${version}${kind}.json`).toString()) as Tables
  for (const [name, rows] of Object.entries(tables)) {
    const table = `skein.${name}`
    await pool.query(
      `INSERT INTO ${table} SELECT * FROM json_populate_recordset(null::${table}, $1::json) ON CONFLICT DO NOTHING`,
      [rows],
    )
  }
}

/** The contents of these conversations, as JSON. */
export async function recordsOf(store: Store, ids: readonly ConversationId[]): Promise<readonly unknown[]> {
  const records: unknown[] = []
  for (const id of ids) {
    for await (const record of store.readRecords(id)) {
      if (record.kind === 'unreadable') throw new Error(`${record.what}: ${record.reason}`)
      const plain =
        record.kind === 'blob' ? { ...record, data: Buffer.from(record.data).toString('base64') } : record
      records.push(JSON.parse(JSON.stringify(plain)))
    }
  }
  return records
}
