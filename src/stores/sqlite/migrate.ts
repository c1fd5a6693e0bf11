import { closeSync, openSync, readdirSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Database } from 'better-sqlite3'
import {
  InvalidError,
  MisconfiguredError,
  ReadOnlyError,
  SchemaTooNewError,
  StorageFullError,
  UnavailableError,
} from '../../core/errors.ts'
import type { Migration } from '../engine/schema.ts'
import { translate } from './errors.ts'
import { migrations as released } from './migrations.ts'
import { retryWhileBusy } from './retry-while-busy.ts'

/** The schema version of a file, or 0 if it contains no store. */
export function schemaVersion(db: Database): number {
  const table = db.prepare(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'skein_state'`).get()
  if (!table) return 0
  const value = db.prepare(`SELECT value FROM skein_state WHERE name = 'schema'`).pluck().get()
  // A borrowed handle may return a BigInt.
  return Number(value ?? 0)
}

/** Migrates a file to the newest version in one transaction. A second process that starts meanwhile waits
 *  for it. A file with an older version is copied first. If the file cannot be written and all missing
 *  migrations are optional, it stays as it is. Throws SchemaTooNewError, without writing, if a newer version
 *  of Skein wrote it. */
export async function migrateFile(db: Database, migrations: readonly Migration[] = released): Promise<void> {
  const newest = migrations.at(-1)?.version ?? 0
  const found = await retryWhileBusy(() => schemaVersion(db))
  if (found > newest) throw new SchemaTooNewError(found, newest)
  if (found === newest) return
  if (db.inTransaction) throw new InvalidError('db', 'has a transaction open: make the store before it')
  const isOptional = migrations.every(one => one.version <= found || one.isOptional)
  try {
    if (found > 0 && !db.memory) await keepCopy(db, found)
    migrate(db, migrations, newest)
  } catch (error) {
    if (!isOptional || !isUnwritable(error)) throw error
  }
}

function isUnwritable(error: unknown): boolean {
  const known = translate(error, null)
  return (
    known instanceof ReadOnlyError ||
    known instanceof StorageFullError ||
    known instanceof UnavailableError ||
    (known instanceof MisconfiguredError && known.part === 'path')
  )
}

function migrate(db: Database, migrations: readonly Migration[], newest: number): void {
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

/** The path of the newest copy made before a migration. */
export function copyPath(file: string): string {
  return `${file}.before-migration`
}

/** Copies with the backup API, which includes the write-ahead log. Only the newest copy is kept. */
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
    // Created here, so that only the owner can read it.
    closeSync(openSync(unfinished, 'wx', 0o600))
    await db.backup(unfinished)
    // Otherwise another process has migrated meanwhile and kept a copy of the previous version.
    if (schemaVersion(db) === version) renameSync(unfinished, copyPath(file))
  } finally {
    rmSync(unfinished, { force: true })
  }
}

/** Removes copies of killed processes. A copy that is still being written is touched all the time, also by
 *  a process of another container, whose pid is meaningless here. */
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
