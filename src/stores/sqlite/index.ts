/**
 * `skein/sqlite`: the driver for SQLite, over better-sqlite3. `openSqliteStore` opens a file and owns it;
 * `sqliteStore` borrows a handle.
 */
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import BetterSqlite3, { type Database } from 'better-sqlite3'
import type { Store } from '../../core/ports.ts'
import type { Source } from '../../core/source.ts'
import { systemSource } from '../../system/source.ts'
import { storeOver } from '../store/store-over.ts'
import { sqliteEngine } from './engine.ts'
import { translate, translated } from './errors.ts'
import { migrateFile, schemaVersion } from './migrate.ts'
import { retryWhileBusy } from './retry-while-busy.ts'

// The parts of the driver:
// - `migrations.ts`, `migrate.ts`: the tables, and how a file gets them
// - `queries/`: the SQL of every statement
// - `engine.ts`: runs programs in transactions; `retry-while-busy.ts` waits for other processes
// - `errors.ts`: errors of SQLite as ours
// - below the port, for the command: `backup.ts`, `shred.ts`, `inspect.ts`, `recover/` (damaged files)

/** How an SQLite file is opened. */
export interface SqliteOptions {
  /** The clock, and the ids of new conversations. Default: those of the machine. */
  readonly source?: Source
  /** `full` (default): an acknowledged append is on the disk. `normal`: it survives a crash of the process,
   *  but the last appends may be lost in a power failure. */
  readonly durability?: 'full' | 'normal'
}

/** Opens a file or `:memory:` and owns it: closing the store closes the file. Creates missing folders. A
 *  file that can only be read is opened too; writing to it throws ReadOnlyError.
 *
 * @example
 * ```ts
 * import { openSqliteStore } from 'skein/sqlite'
 *
 * await using store = await openSqliteStore('conversations.db', { durability: 'normal' })
 * await store.create({ key: 'cli:default', title: 'First' })
 * console.log(await store.countConversations()) // 1
 * ```
 */
export async function openSqliteStore(path: string, options: SqliteOptions = {}): Promise<Store> {
  try {
    const db = await open(path, options.durability ?? 'full')
    try {
      await migrateFile(db)
      return over(db, options, true)
    } catch (error) {
      db.close()
      throw error
    }
  } catch (error) {
    throw translate(error)
  }
}

/** A store on a handle of the caller, next to the caller's own tables. Does not change the settings of the
 *  handle and does not close it.
 *
 * @example
 * ```ts
 * import Database from 'better-sqlite3'
 * import { sqliteStore } from 'skein/sqlite'
 *
 * // The application's own database: Skein's tables are named skein_*, and closing it is left to the owner.
 * const db = new Database('app.db')
 * db.exec('CREATE TABLE users (name TEXT)')
 * const store = await sqliteStore(db)
 * await store.create({ owner: 'ada' })
 * console.log(await store.countConversations()) // 1
 * db.close()
 * ```
 */
export async function sqliteStore(db: Database, options: Pick<SqliteOptions, 'source'> = {}): Promise<Store> {
  try {
    await migrateFile(db)
  } catch (error) {
    throw translate(error)
  }
  return over(db, options, false)
}

function over(db: Database, { source = systemSource }: SqliteOptions, owned: boolean): Store {
  return storeOver(sqliteEngine(db, { source, owned }), async () => translated(() => schemaVersion(db)))
}

async function open(path: string, durability: 'full' | 'normal'): Promise<Database> {
  if (path !== ':memory:') makeFile(path)
  const db = new BetterSqlite3(path, { timeout: 0 })
  try {
    // SQLite does not wait if two processes switch a new file to a write-ahead log.
    await retryWhileBusy(() => prepareHandle(db, durability))
    return db
  } catch (error) {
    db.close()
    if (needsFilesBeside(error) && isWholeAlone(path)) return readIntoMemory(path)
    throw error
  }
}

/** Created here, so that only the owner can read it. SQLite gives its other files the same mode. */
function makeFile(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    closeSync(openSync(path, 'a', 0o600))
  } catch (error) {
    // The file may still be readable.
    if (!existsSync(path)) throw error
  }
}

function needsFilesBeside(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : ''
  return code === 'SQLITE_READONLY_DIRECTORY' || code === 'SQLITE_CANTOPEN'
}

/** Whether the write-ahead log is empty, so that the file is complete without it. */
function isWholeAlone(path: string): boolean {
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0
}

/** SQLite creates other files to read a file with a write-ahead log. In a read-only folder, the file is
 *  read into memory instead. */
function readIntoMemory(path: string): Database {
  const file = readFileSync(path)
  // The header says that there is a log. In memory there is none.
  file.fill(1, 18, 20)
  return new BetterSqlite3(file, { readonly: true })
}

/** All settings in one call: a separate call for each would take as long as the query of a short
 *  command. */
function prepareHandle(db: Database, durability: 'full' | 'normal'): void {
  const isDarwin = process.platform === 'darwin'
  db.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'};
    ${isDarwin && durability === 'full' ? 'PRAGMA fullfsync = ON;' : ''}
    PRAGMA foreign_keys = ON;
    -- A safety net; checkpoints are made between writes.
    PRAGMA wal_autocheckpoint = 4000;
  `)
}
