import type { Database, Statement } from 'better-sqlite3'

/** Pages in the log at which it is copied into the file, about 12 MB. A page that many appends have written
 *  is copied once: the more pages, the less copying. The index of a log of up to 4,062 pages is one hash
 *  table. */
export const pagesPerCheckpoint = 3_000

/** Writes between two looks at the log. A look takes a microsecond. */
const writesPerLook = 8

/** Copies the log into the file when it is long, also the pages of other processes. */
export interface Checkpoints {
  /** To be called after each transaction with the number of its writes. Returns whether a checkpoint is due
   *  when the event loop turns. */
  wrote(count: number): boolean
}

/** By default SQLite makes a checkpoint inside the commit of an append. Here it runs after the callers have
 *  their results, on the same connection, so that no append waits for it. */
export function checkpoints(db: Database): Checkpoints {
  let writes = 0
  let isDue = false
  let look: Statement | undefined

  return { wrote }

  function wrote(count: number): boolean {
    writes += count
    if (writes >= writesPerLook && !isDue) {
      writes = 0
      if (isLong(lookAtLog())) checkpointSoon()
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
        if (isLong(state)) checkpoint(state)
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

function isLong({ log, checkpointed }: LogState): boolean {
  return log >= pagesPerCheckpoint && log > checkpointed
}
