import { renameSync, rmSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Database } from 'better-sqlite3'
import { SchemaTooNewError, StorageFullError } from '../../core/errors.ts'
import type { Migration } from '../migration.ts'
import { migrations as released } from './migrations.ts'
import { patiently } from './patience.ts'

/** The schema version of a file; 0 if it holds no store. */
export function schemaVersion(db: Database): number {
  const table = db.prepare(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'skein_state'`).get()
  if (!table) return 0
  const row = db.prepare(`SELECT value FROM skein_state WHERE name = 'schema'`).get() as
    | { value: number }
    | undefined
  return row?.value ?? 0
}

/** Brings a file to the newest version, in one transaction that two starting processes share by waiting.
 *  A file with older contents is copied first. Throws SchemaTooNewError, without writing, if a newer
 *  Skein wrote it. */
export async function migrate(db: Database, migrations: readonly Migration[] = released): Promise<void> {
  const newest = migrations.at(-1)?.version ?? 0
  const found = await patiently(() => schemaVersion(db))
  if (found > newest) throw new SchemaTooNewError(found, newest)
  if (found === newest) return
  if (found > 0 && !db.memory) await keepCopy(db)
  db.pragma('busy_timeout = 30000')
  try {
    db.exec('BEGIN IMMEDIATE')
    const current = schemaVersion(db)
    if (current > newest) throw new SchemaTooNewError(current, newest)
    for (const { version, sql } of migrations) {
      if (version <= current) continue
      db.exec(sql)
      db.prepare(
        `INSERT INTO skein_state (name, value) VALUES ('schema', ?)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      ).run(version)
    }
    db.exec('COMMIT')
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK')
    throw error
  } finally {
    db.pragma('busy_timeout = 0')
  }
}

/** Where the newest copy before a migration is kept. */
export function copyPath(file: string): string {
  return `${file}.before-migration`
}

/** Copies through the backup API, which sees what is still in the WAL. Only the newest copy is kept. */
async function keepCopy(db: Database): Promise<void> {
  const file = db.name
  const { bavail, bsize } = statfsSync(dirname(file))
  const size = statSync(file).size + (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0)
  if (bavail * bsize < size * 2) {
    throw new StorageFullError(
      `migrating ${file} needs ${size * 2} bytes for a copy and itself, and ${bavail * bsize} are free`,
    )
  }
  const unfinished = `${copyPath(file)}.${process.pid}`
  try {
    await db.backup(unfinished)
    renameSync(unfinished, copyPath(file))
  } finally {
    rmSync(unfinished, { force: true })
  }
}
