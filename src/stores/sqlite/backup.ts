import { chmodSync, closeSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import BetterSqlite3, { type Database } from 'better-sqlite3'
import { readIntoMemory } from './copy-in-memory.ts'
import { translate } from './errors.ts'
import { retryWhileBusy } from './retry-while-busy.ts'

export interface BackupOptions {
  readonly signal?: AbortSignal
  /** How many pages to copy before other work gets a turn. */
  readonly pagesPerStep?: number
  readonly onProgress?: (pages: number, total: number) => void
  /** Checks the copy before it is renamed. An error prevents the renaming. */
  readonly check?: (unfinished: string) => Promise<void>
}

/** Copies a file while other processes write to it. The copy is one snapshot that contains everything
 *  acknowledged before the call. It is renamed once it is complete and on the disk. Only its owner can read
 *  it. Returns its size. */
export async function backupFile(from: string, to: string, options: BackupOptions = {}): Promise<number> {
  const { check } = options
  const unfinished = `${to}.${process.pid}.unfinished`
  try {
    closeSync(openSync(unfinished, 'wx', 0o600))
    await copyPages(from, unfinished, options)
    await check?.(unfinished)
    sync(unfinished, 'r+')
    chmodSync(unfinished, 0o600)
    renameSync(unfinished, to)
    sync(dirname(to), 'r')
    return statSync(to).size
  } catch (error) {
    throw translate(error, to)
  } finally {
    for (const end of ['', '-wal', '-shm']) rmSync(`${unfinished}${end}`, { force: true })
  }
}

async function copyPages(
  from: string,
  to: string,
  { signal, onProgress, pagesPerStep = 500 }: BackupOptions,
): Promise<void> {
  const db = await openSnapshot(from)
  try {
    await db.backup(to, {
      progress({ totalPages, remainingPages }) {
        signal?.throwIfAborted()
        onProgress?.(totalPages - remainingPages, totalPages)
        return pagesPerStep
      },
    })
  } finally {
    db.close()
  }
}

/** Opens a file in a read transaction: one snapshot for all steps. Otherwise a concurrent writer would
 *  restart the copy indefinitely. */
async function openSnapshot(file: string): Promise<Database> {
  let db: Database | undefined
  try {
    const opened = new BetterSqlite3(file, { fileMustExist: true, timeout: 0 })
    db = opened
    await retryWhileBusy(() => {
      if (opened.inTransaction) opened.exec('ROLLBACK')
      opened.exec('BEGIN')
      opened.prepare('SELECT count(*) FROM sqlite_schema').get()
    })
    return opened
  } catch (error) {
    db?.close()
    const problem = translate(error, file)
    const copy = await readIntoMemory(file, problem)
    if (!copy) throw problem
    return copy
  }
}

function sync(path: string, flags: 'r' | 'r+'): void {
  const fd = openSync(path, flags)
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
