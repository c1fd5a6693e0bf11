import type { Database, Statement } from 'better-sqlite3'

/** Pages in the log at which it is copied into the file, about 12 MB. A page that many appends have written
 *  is copied once: the more pages, the less copying. The index of a log of up to 4,062 pages is one hash
 *  table. */
export const pagesPerCheckpoint = 3_000

/** The same after bulk work: each of its transactions writes hundreds of pages, few of them twice and many
 *  without a sync, so that copying 3,000 of them would block for 0.1 to 0.4 s. */
const pagesPerBulkCheckpoint = 800

/** Writes between two looks at the log. A look takes a microsecond. */
const writesPerLook = 8

/** Copies the log into the file when it is long, also the pages of other processes. */
export interface Checkpoints {
  /** To be called after each transaction with the number of its writes, and whether it is bulk work: the
   *  search index, or a deletion. Returns whether a checkpoint is due when the event loop turns. */
  wrote(count: number, isBulk: boolean): boolean
}

/** By default SQLite makes a checkpoint inside the commit of an append. Here it runs after the callers have
 *  their results, on the same connection, so that no append waits for it. */
export function checkpoints(db: Database): Checkpoints {
  let writes = 0
  let isDue = false
  let most = pagesPerCheckpoint
  let look: Statement | undefined

  return { wrote }

  function wrote(count: number, isBulk: boolean): boolean {
    writes += isBulk ? writesPerLook : count
    if (writes >= writesPerLook && !isDue) {
      writes = 0
      most = isBulk ? pagesPerBulkCheckpoint : pagesPerCheckpoint
      if (isLong(lookAtLog(), most)) checkpointSoon()
    }
    return isDue
  }

  function lookAtLog(): LogState {
    look ??= db.prepare('PRAGMA wal_checkpoint(NOOP)').safeIntegers(false)
    return look.get() as LogState
  }

  function checkpointSoon(): void {
    isDue = true
    setImmediate(() => {
      isDue = false
      if (!db.open || db.inTransaction) return
      try {
        const state = lookAtLog()
        if (isLong(state, most)) checkpoint(state)
      } catch {
        // A full or unwritable disk is reported by the next write.
      }
    })
  }

  function checkpoint(state: LogState): void {
    const [{ busy }] = db.pragma(`wal_checkpoint(${modeFor(state)})`) as [{ busy: number }]
    // Another process has the lock: try again after the next write, when it may be free.
    if (busy !== 0) writes = writesPerLook
  }
}

/** If an earlier checkpoint has copied a part, other processes wrote during it. The log starts again from its
 *  beginning only after a checkpoint that copies all, so this one locks them out for the rest. */
function modeFor({ checkpointed }: LogState): 'FULL' | 'PASSIVE' {
  return checkpointed > 0 ? 'FULL' : 'PASSIVE'
}

/** Pages in the log, and those of them that have been copied. Both are -1 without a log, as in memory. */
interface LogState {
  readonly log: number
  readonly checkpointed: number
}

function isLong({ log, checkpointed }: LogState, most: number): boolean {
  return log >= most && log > checkpointed
}
