import { closeSync, openSync, readdirSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Database } from 'better-sqlite3'
import { InvalidError, SchemaTooNewError, StorageFullError } from '../../core/errors.ts'
import type { Migration } from '../engine/schema.ts'
import { migrations as released } from './migrations.ts'
import { retryWhileBusy } from './retry-while-busy.ts'

/** The schema version of a file; 0 if it holds no store. */
export function schemaVersion(db: Database): number {
  const table = db.prepare(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'skein_state'`).get()
  if (!table) return 0
  const value = db.prepare(`SELECT value FROM skein_state WHERE name = 'schema'`).pluck().get()
  // A handle that was lent to us may give a BigInt.
  return Number(value ?? 0)
}

/** Brings a file to the newest version, in one transaction that two starting processes share by waiting.
 *  A file with older contents is copied first. Throws SchemaTooNewError, without writing, if a newer
 *  Skein wrote it. */
export async function migrate(db: Database, migrations: readonly Migration[] = released): Promise<void> {
  const newest = migrations.at(-1)?.version ?? 0
  const found = await retryWhileBusy(() => schemaVersion(db))
  if (found > newest) throw new SchemaTooNewError(found, newest)
  if (found === newest) return
  if (db.inTransaction) throw new InvalidError('db', 'has a transaction open: make the store before it')
  if (found > 0 && !db.memory) await keepCopy(db, found)
  const patience = db.pragma('busy_timeout', { simple: true })
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
    db.pragma(`busy_timeout = ${patience}`)
  }
}

/** Where the newest copy before a migration is kept. */
export function copyPath(file: string): string {
  return `${file}.before-migration`
}

/** Copies through the backup API, which sees what is still in the WAL. Only the newest copy is kept. */
async function keepCopy(db: Database, version: number): Promise<void> {
  const file = db.name
  const { bavail, bsize } = statfsSync(dirname(file))
  const size = statSync(file).size + (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0)
  if (bavail * bsize < size * 2) {
    throw new StorageFullError(
      `migrating ${file} needs ${size * 2} bytes for a copy and itself, and ${bavail * bsize} are free`,
    )
  }
  removeAbandoned(file)
  const unfinished = `${copyPath(file)}.${process.pid}`
  rmSync(unfinished, { force: true })
  try {
    // Made here, so that nobody else can read it.
    closeSync(openSync(unfinished, 'wx', 0o600))
    await db.backup(unfinished)
    // Otherwise another process has migrated meanwhile, and kept a copy of what was before.
    if (schemaVersion(db) === version) renameSync(unfinished, copyPath(file))
  } finally {
    rmSync(unfinished, { force: true })
  }
}

/** Removes copies that a process was killed over. One that is still being written is touched all the time, also by a
 *  process of another container, whose number says nothing here. */
function removeAbandoned(file: string): void {
  const folder = dirname(file)
  const beginning = `${basename(copyPath(file))}.`
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(beginning) || !/^\d+(-journal)?$/.test(name.slice(beginning.length))) continue
    const path = join(folder, name)
    const touched = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (Date.now() - touched > 10_000) rmSync(path, { force: true })
  }
}
