import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Pool } from 'pg'
import type { ConversationId } from '../../src/core/ids.ts'
import type { Store } from '../../src/core/ports.ts'
import { migrate } from '../../src/stores/postgres/migrate.ts'
import { migrations } from '../../src/stores/postgres/migrations.ts'

/** Stores as each released version has written them, with one of everything in them, and what they say. They are made
 *  by `node test/released/make.ts` before a release, and never again. */

/** Schema versions of which there are files here. */
export const releasedVersions = [1] as const

/** What a store has to say, whatever became of its schema. */
export interface Truth {
  readonly ids: readonly ConversationId[]
  readonly records: readonly unknown[]
}

/** Rows of each table of PostgreSQL, each a JSON text: some of its numbers are larger than ours. */
export type Tables = Readonly<Record<string, string>>

export const fileOf = (name: string) => join(import.meta.dirname, `${name}.gz`)

function unpack(name: string): Buffer {
  return gunzipSync(readFileSync(fileOf(name)))
}

export function truthOf(engine: 'sqlite' | 'postgres', version: number): Truth {
  return JSON.parse(unpack(`${engine}-${version}.truth.json`).toString()) as Truth
}

/** Puts the SQLite file of a version at a path. */
export function unpackSqlite(version: number, path: string): void {
  writeFileSync(path, unpack(`sqlite-${version}.db`), { mode: 0o600 })
}

/** Makes an empty database of PostgreSQL one of that version. */
export async function loadPostgres(version: number, pool: Pool): Promise<void> {
  await migrate(pool, migrations.slice(0, version))
  const tables = JSON.parse(unpack(`postgres-${version}.json`).toString()) as Tables
  for (const [name, rows] of Object.entries(tables)) {
    const table = `skein.${name}`
    await pool.query(
      `INSERT INTO ${table} SELECT * FROM json_populate_recordset(null::${table}, $1::json) ON CONFLICT DO NOTHING`,
      [rows],
    )
  }
}

/** All that a store says of these conversations, as JSON has it. */
export async function recordsOf(store: Store, ids: readonly ConversationId[]): Promise<readonly unknown[]> {
  const records: unknown[] = []
  for (const id of ids) {
    for await (const record of store.readStored(id)) {
      if (record.kind === 'unreadable') throw new Error(`${record.what}: ${record.reason}`)
      const plain =
        record.kind === 'blob' ? { ...record, data: Buffer.from(record.data).toString('base64') } : record
      records.push(JSON.parse(JSON.stringify(plain)))
    }
  }
  return records
}
