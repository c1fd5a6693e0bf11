/**
 * `skein/sqlite`: the driver for SQLite, over better-sqlite3. `openSqliteStore` opens a file and owns it;
 * `sqliteStore` borrows a handle.
 */
import { closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import BetterSqlite3, { type Database } from 'better-sqlite3'
import { checkChoice, checkMethod } from '../../core/check.ts'
import { InvalidError, ReadOnlyError, SkeinError, UnavailableError } from '../../core/errors.ts'
import type { Store } from '../../core/ports.ts'
import type { Source } from '../../core/source.ts'
import { systemSource } from '../../system/source.ts'
import { requireNode } from '../../system/version.ts'
import { checkCacheBytes } from '../check/cache-bytes.ts'
import { checkLease } from '../check/lease.ts'
import { parseTarget } from '../check/target.ts'
import type { Engine } from '../engine/engine.ts'
import { withIndexing } from '../store/background-index.ts'
import { loadMethods, storeWithHub } from '../store/store-with-hub.ts'
import { copyEngine, readIntoMemory } from './copy-in-memory.ts'
import { fileOf, sqliteEngine } from './engine.ts'
import { translated, translateOpening } from './errors.ts'
import { handleSettings } from './handle-settings.ts'
import { migrateFile, schemaVersion } from './migrate.ts'
import { retryWhileBusy } from './retry-while-busy.ts'

// The parts of the driver:
// - `migrations.ts`, `migrate.ts`: the tables, and how a file gets them
// - `queries/`: the SQL of every statement
// - `engine.ts`: runs programs in transactions; `group-commit.ts` lets parallel writes share one;
//   `retry-while-busy.ts` waits for other processes
// - `log-sync.ts`: makes commits durable, after other processes may write again; `rewrite-log.ts` repairs the
//   log after a sync that failed
// - `checkpoints.ts`: when the log is copied into the file; `blocking-work-thread.ts` does it unnoticed
// - `thread-writes.ts`: the transactions of long work, which the same thread makes
// - `errors.ts`: errors of SQLite as ours
// - `copy-in-memory.ts`: reads a file in a read-only folder or on a full disk
// - `remove-traces.ts`: removes deleted content from the bytes of the file and its log
// - `inspect.ts`, `check-in-child.ts`: SQLite's own checks of a file
// - below the port, for the command: `backup.ts`, `recover/` (damaged files)

/** How an SQLite file is opened. */
export interface SqliteOptions {
  /** The clock, and the ids of new conversations. Default: those of the machine. */
  readonly source?: Source
  /** `full` (default): an acknowledged append is on the disk. `normal`: it survives a crash of the process,
   *  but the last appends may be lost in a power failure. */
  readonly durability?: 'full' | 'normal'
  /** `background` (default): the search index is written after the messages, while this process is idle.
   *  `manual`: only by `indexSearch`. */
  readonly indexing?: 'background' | 'manual'
  /** How long a process that does not renew its turn keeps the branch, from 5,000 to 60,000. Default: 30,000.
   *  After a crash that other processes cannot see, they wait this long. */
  readonly leaseMs?: number
  /** Most memory for pages of the file, from 102,400 bytes to 1 GiB. Default: 16,384,000. */
  readonly cacheBytes?: number
}

/** Opens a file or `:memory:` and owns it: closing the store closes the file. Creates missing folders. A
 *  file that can only be read is opened too; writing to it throws ReadOnlyError. So is a file on a full disk;
 *  writing to it throws StorageFullError until there is space again.
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
  requireNode()
  const target = parseTarget(path, 'path')
  if (target.engine !== 'sqlite') throw new InvalidError('path', 'is a PostgreSQL URL: use openPostgresStore')
  const { source = systemSource, durability = 'full' } = options
  checkChoice(durability, 'durability', ['full', 'normal'])
  const leaseMs = checkLease(options.leaseMs)
  const cacheBytes = checkCacheBytes(options.cacheBytes)
  const settings = handleSettings(durability === 'full' ? 'FULL' : 'NORMAL', cacheBytes)
  const open = () => openFile(target.path, settings)
  try {
    const db = await open()
    return over(withIndexing(sqliteEngine(db, { source, leaseMs, owned: true }), options.indexing), db)
  } catch (error) {
    const db = await readIntoMemory(target.path, error)
    if (!db) throw error instanceof ReadOnlyError ? unreadable(target.path, error) : error
    const engineOf = (handle: Database) =>
      sqliteEngine(handle, { source, leaseMs, owned: true, file: target.path })
    try {
      // Throws if there is something to migrate.
      await migrateFile(db)
    } catch (reason) {
      db.close()
      throw reason instanceof SkeinError ? reason : error
    }
    const version = schemaVersion(db)
    return storeWithHub(
      withIndexing(
        copyEngine(engineOf(db), async () => engineOf(await open())),
        options.indexing,
      ),
      async () => version,
    )
  }
}

/** A store on a handle of the caller, next to the caller's own tables. Does not change the settings of the
 *  handle and does not close it. Its deletions may leave bytes in the file until `compact`, which rewrites
 *  the caller's tables too; set `PRAGMA secure_delete = ON` on the handle to leave fewer.
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
export async function sqliteStore(
  db: Database,
  options: Omit<SqliteOptions, 'durability' | 'cacheBytes'> = {},
): Promise<Store> {
  requireNode()
  checkMethod(db, 'db', 'prepare', 'a handle of better-sqlite3')
  const leaseMs = checkLease(options.leaseMs)
  try {
    await migrateFile(db)
  } catch (error) {
    throw translateOpening(error, fileOf(db))
  }
  // A call inside a transaction of the caller must not wait for a file.
  await loadMethods()
  const engine = sqliteEngine(db, { source: options.source ?? systemSource, leaseMs, owned: false })
  return over(withIndexing(engine, options.indexing), db)
}

function over(engine: Engine, db: Database): Store {
  return storeWithHub(engine, async () => translated(() => schemaVersion(db), fileOf(db)))
}

/** A read-only store whose write-ahead log cannot be used: it cannot be read either. */
function unreadable(path: string, { cause, hint }: ReadOnlyError): UnavailableError {
  const how = hint === null ? {} : { hint }
  return new UnavailableError(`cannot read ${path} and its write-ahead log`, { cause, ...how })
}

/** Opens a file and brings its tables up to date. */
async function openFile(path: string, settings: string): Promise<Database> {
  try {
    if (path !== ':memory:') makeFile(path)
    const db = new BetterSqlite3(path, { timeout: 0 })
    try {
      // SQLite does not wait if two processes switch a new file to a write-ahead log.
      await retryWhileBusy(() => db.exec(settings))
      await migrateFile(db)
      return db
    } catch (error) {
      db.close()
      throw error
    }
  } catch (error) {
    throw translateOpening(error, path)
  }
}

/** Created here, so that only the owner can read it. SQLite gives its other files the same mode. A file that
 *  is there is not opened: closing any handle of it would release the locks of all stores that this process
 *  has on it, and another program could then remove the write-ahead log under them (decision 91). */
function makeFile(path: string): void {
  const isFile = () => statSync(path, { throwIfNoEntry: false })?.isFile() === true
  if (isFile()) return
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    closeSync(openSync(path, 'a', 0o600))
  } catch (error) {
    // Another process may have created it meanwhile.
    if (!isFile()) throw error
  }
}
