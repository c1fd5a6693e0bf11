import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { Pool } from 'pg'
import type { Store } from '../../src/core/ports.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { newestVersion } from '../../src/stores/postgres/migrate.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { migrations } from '../../src/stores/sqlite/migrations.ts'
import { fillWithEverything, steadySource } from '../stores/everything.ts'
import { createDatabase, makePlace, startPostgres } from '../support/postgres.ts'
import { fileOf, recordsOf, type Tables, type Truth } from './released.ts'

/** Writes the files of the newest schema version. After the release of that version they never change: a
 *  change of the schema is a new version with new files. */

const sqliteVersion = migrations.at(-1)!.version
const folder = mkdtempSync(join(tmpdir(), 'skein-released-'))
const file = join(folder, 'a.db')
await fill(await openSqliteStore(file, { source: steadySource() }), `sqlite-${sqliteVersion}`)
write(`sqlite-${sqliteVersion}.db`, readFileSync(file))
rmSync(folder, { recursive: true, force: true })

const server = await startPostgres({ directory: makePlace() })
try {
  const url = await createDatabase(server.url)
  await fill(await openPostgresStore(url, { source: steadySource() }), `postgres-${newestVersion}`)
  write(`postgres-${newestVersion}.json`, JSON.stringify(await tablesOf(url)))
} finally {
  await server.stop()
}

/** Fills a store with one record of each kind, closes it, and writes its expected contents. */
async function fill(store: Store, name: string): Promise<void> {
  const { ids } = await fillWithEverything(store)
  await store.indexSearch()
  const truth: Truth = { ids, records: await recordsOf(store, ids) }
  // Not part of conversations: an upgrade test can read them from the file.
  await store.addToken({ hash: '0'.repeat(64), name: 'sample', scopes: ['read', 'write'] })
  await store.submitTask({ id: 'T-sample', project: 'web', description: 'Find out why the test is flaky' })
  await store.close()
  write(`${name}.truth.json`, JSON.stringify(truth))
}

async function tablesOf(url: string): Promise<Tables> {
  const pool = new Pool({ connectionString: url })
  const { rows: names } = await pool.query(`
    SELECT relname AS name FROM pg_class WHERE relnamespace = 'skein'::regnamespace AND relkind = 'r' ORDER BY 1`)
  const tables: Record<string, string> = {}
  for (const { name } of names) {
    const { rows } = await pool.query(`SELECT coalesce(json_agg(t), '[]')::text AS rows FROM skein.${name} t`)
    tables[name] = rows[0].rows
  }
  await pool.end()
  return tables
}

function write(name: string, contents: string | Buffer): void {
  const packed = gzipSync(contents, { level: 9 })
  writeFileSync(fileOf(name), packed)
  console.log(`${name}: ${contents.length} bytes, ${packed.length} packed`)
}
