import { closeSync, fdatasync, fdatasyncSync, openSync } from 'node:fs'
import { setImmediate } from 'node:timers'
import { promisify } from 'node:util'
import type { Database } from 'better-sqlite3'
import { OutcomeUnknownError } from '../../core/errors.ts'
import { statementChannel } from '../../system/debug.ts'
import { fullPathOf } from './checkpoints.ts'
import { pagesPerOwnCheckpoint } from './handle-settings.ts'
import { retryWhileBusy } from './retry-while-busy.ts'
// Not loaded lazily: it is needed when the disk fails.
import { rewriteLog } from './rewrite-log.ts'

/** A disk that takes this long for a sync is slow: the event loop runs meanwhile. Other syncs are made at
 *  once, because the thread pool would add 20 to 40 µs to each. */
const slowMs = 2

/** SQLite's number for a commit that waits for the disk. */
const full = 2

/** The calls of the operating system that make the log durable. */
export interface LogFile {
  open(path: string): number
  /** Waits for the disk, and blocks the process meanwhile. */
  syncAtOnce(descriptor: number): void
  sync(descriptor: number): Promise<void>
  close(descriptor: number): void
}

/** SQLite has no locks on the log, so a second descriptor of it releases none (decision 91). */
const systemLogFile: LogFile = {
  // Windows syncs only descriptors that may write.
  open: path => openSync(path, 'r+'),
  syncAtOnce: fdatasyncSync,
  sync: promisify(fdatasync),
  close: closeSync,
}

/** Makes the transactions of a handle durable: syncs the log after the commit, when other processes may write
 *  again, and before the caller gets an answer. SQLite would sync while it holds the write lock. */
export interface LogSync {
  /** Whether commits of the handle leave the sync to us. The first call decides, and changes the setting of
   *  the handle. To be called outside a transaction. */
  takesOver(): boolean
  /** Syncs all transactions that are committed. Returns null when it is done, or else a promise. A large
   *  transaction is never synced at once. The promise rejects with OutcomeUnknownError if the disk does not
   *  confirm it. */
  sync(isLarge?: boolean): Promise<void> | null
  /** The end of the syncs that have begun, if there are any. Does not reject. */
  pending(): Promise<void> | null
  /** Whether the last sync took long. */
  isSlow(): boolean
  /** Whether the log may be copied into the file: not while a part of it may be missing on the disk. */
  mayCopy(): boolean
  /** The same, after a sync: it also tells of failures that other processes have met. */
  mayCopyNow(): Promise<boolean>
  close(): void
}

/** `clock` returns milliseconds. */
export function logSync(db: Database, clock: () => number, file: LogFile = systemLogFile): LogSync {
  let isOurs: boolean | undefined
  let descriptor: number | undefined
  let isSlow = false
  /** Whether a sync has failed, and the log has not been written again since. */
  let isUncertain = false
  let running: Promise<void> | null = null
  /** The sync that begins after the one that is running, for all transactions committed by then. */
  let next: Promise<void> | null = null

  return {
    takesOver: () => (isOurs ??= takeOver()),
    sync,
    isSlow: () => isSlow,
    pending: () => (next ?? running)?.catch(() => undefined) ?? null,
    mayCopy: () => !isUncertain,
    mayCopyNow: async () => {
      await sync(true)?.catch(() => undefined)
      return !isUncertain
    },
    close,
  }

  function takeOver(): boolean {
    if (db.memory || db.readonly) return false
    if ((db.pragma('synchronous', { simple: true }) as number) < full) return false
    // Some file systems have no shared memory, and SQLite keeps a rollback journal there.
    if (db.pragma('journal_mode', { simple: true }) !== 'wal') return false
    try {
      descriptor = file.open(`${fullPathOf(db)}-wal`)
    } catch {
      return false // SQLite syncs each commit, as it did so far.
    }
    db.pragma('synchronous = NORMAL')
    return true
  }

  function sync(isLarge = false): Promise<void> | null {
    if (descriptor === undefined) return null
    const isAtOnce = !(isSlow || isLarge || isUncertain || running || next)
    if (isAtOnce && syncAtOnce(descriptor)) return null
    next ??= running ? running.then(startSoon, startSoon) : startSoon()
    return next
  }

  /** Returns whether it has succeeded. */
  function syncAtOnce(log: number): boolean {
    const end = beginSync()
    try {
      file.syncAtOnce(log)
    } catch (error) {
      return end(error)
    }
    return end()
  }

  /** By the next turn of the event loop, callers that were answered together have written again, and share
   *  the sync. */
  function startSoon(): Promise<void> {
    return new Promise(resolve => {
      setImmediate(() => resolve(start()))
    })
  }

  function start(): Promise<void> {
    next = null
    running = syncInPool().finally(() => {
      running = null
    })
    return running
  }

  async function syncInPool(): Promise<void> {
    if (isUncertain) return writeAgain()
    const end = beginSync()
    try {
      await file.sync(descriptor!)
      end()
    } catch (error) {
      end(error)
      return writeAgain()
    }
  }

  /** Returns a function that notes how the sync ended, and returns whether it has succeeded. */
  function beginSync(): (error?: unknown) => boolean {
    const began = clock()
    const tracedFrom = statementChannel.hasSubscribers ? performance.now() : null
    return error => {
      if (tracedFrom !== null) publishSync(performance.now() - tracedFrom, error)
      if (error === undefined) isSlow = clock() - began >= slowMs
      else isUncertain = true
      return error === undefined
    }
  }

  /** After a failed sync, the next one succeeds without the pages of the log that have failed. So the log is
   *  written again, and synced. It must not be copied into the file before that: if the power failed
   *  meanwhile, the file would have pages of transactions that the log has lost. */
  async function writeAgain(): Promise<void> {
    // SQLite copies a long log inside a commit.
    db.pragma('wal_autocheckpoint = 0')
    try {
      await retryWhileBusy(writeLocked)
    } catch (error) {
      throw unconfirmed(error)
    }
    isUncertain = false
    db.pragma(`wal_autocheckpoint = ${pagesPerOwnCheckpoint}`)
  }

  /** The lock keeps other processes from writing to the log, and from starting it again. */
  function writeLocked(): void {
    const least = (db.pragma('wal_checkpoint(NOOP)') as [{ log: number }])[0].log
    db.exec('BEGIN IMMEDIATE')
    try {
      if (rewriteLog(descriptor!) < least) throw new Error('the log has lost pages')
      file.syncAtOnce(descriptor!)
    } finally {
      db.exec('ROLLBACK')
    }
  }

  function close(): void {
    if (descriptor !== undefined) file.close(descriptor)
    descriptor = undefined
  }
}

function publishSync(ms: number, error: unknown): void {
  const failure = error === undefined ? {} : { error }
  statementChannel.publish({ engine: 'sqlite', statements: ['SYNC'], rows: 0, ms, ...failure })
}

function unconfirmed(cause: unknown): OutcomeUnknownError {
  return new OutcomeUnknownError('the disk did not confirm that the write is stored', {
    cause,
    hint: 'Check the disk. Then try again with the same turn key, or read the head of the branch',
  })
}
