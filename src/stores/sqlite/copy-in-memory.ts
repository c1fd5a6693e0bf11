import { readFileSync, statSync } from 'node:fs'
import BetterSqlite3, { type Database } from 'better-sqlite3'
import { StorageFullError } from '../../core/errors.ts'
import type { Engine } from '../engine/engine.ts'
import { retryWhileBusy } from './retry-while-busy.ts'

/** Reads a whole file into memory, if SQLite could not open it with `problem` because it creates other files
 *  to read a database with a write-ahead log: in a read-only folder and on a full disk it cannot. Returns
 *  null after any other problem, and if the file cannot be read in this way either. */
export async function readIntoMemory(path: string, problem: unknown): Promise<Database | null> {
  try {
    const bytes = await readBytes(path, problem)
    if (!bytes) return null
    // The header says that there is a log. In memory there is none.
    bytes.fill(1, 18, 20)
    return new BetterSqlite3(bytes, { readonly: true })
  } catch {
    // The caller reports `problem`, which is the reason.
    return null
  }
}

async function readBytes(path: string, problem: unknown): Promise<Buffer | null> {
  if (problem instanceof StorageFullError) return readWithLog(path)
  return isFolderReadOnly(problem) && isWholeAlone(path) ? readFileSync(path) : null
}

function isFolderReadOnly(problem: unknown): boolean {
  const cause = problem instanceof Error ? problem.cause : null
  const code = cause instanceof Error && 'code' in cause ? cause.code : ''
  return code === 'SQLITE_READONLY_DIRECTORY' || code === 'SQLITE_CANTOPEN'
}

/** Whether the write-ahead log is empty, so that the file is complete without it. */
function isWholeAlone(path: string): boolean {
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0
}

/** Reads the file with its log, which may contain the newest messages after a crash. A connection that locks
 *  the file for itself needs no shared memory, for which a full disk has no space. */
async function readWithLog(path: string): Promise<Buffer> {
  const db = new BetterSqlite3(path, { fileMustExist: true, timeout: 0 })
  try {
    db.pragma('locking_mode = EXCLUSIVE')
    return await retryWhileBusy(() => {
      db.prepare('SELECT count(*) FROM sqlite_schema').get()
      return db.serialize()
    })
  } finally {
    db.close()
  }
}

/** Reads from a copy in memory. The first write that succeeds in opening the file replaces the copy: the disk
 *  has space again, or the folder can be written. */
export function copyEngine(copy: Engine, open: () => Promise<Engine>): Engine {
  let engine = copy
  let isClosed = false
  let reopening: Promise<void> | undefined
  return {
    ...copy,
    query: program => engine.query(program),
    read: program => engine.read(program),
    async write(program, durability) {
      await openFile()
      return engine.write(program, durability)
    },
    async writeLarge(making) {
      await openFile()
      return engine.writeLarge(making)
    },
    inspect: signal => engine.inspect(signal),
    isFree: () => engine.isFree(),
    async close() {
      isClosed = true
      await reopening?.catch(() => undefined)
      await engine.close()
    },
  }

  async function openFile(): Promise<void> {
    if (isClosed) return
    reopening ??= reopen()
    await reopening
  }

  async function reopen(): Promise<void> {
    try {
      engine = await open()
    } catch (error) {
      reopening = undefined
      throw error
    }
    await copy.close()
  }
}
