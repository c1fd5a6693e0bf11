import { setImmediate } from 'node:timers'
import type { Database, Statement } from 'better-sqlite3'
import type { LogSync } from './log-sync.ts'

/** Pages in the log at which it is copied into the file, about 12 MB. A page that many appends have written
 *  is copied once: the more pages, the less copying. The index of a log of up to 4,062 pages is one hash
 *  table. */
export const pagesPerCheckpoint = 3_000

/** The same after bulk work: each of its transactions writes hundreds of pages, few of them twice and many
 *  without a sync, so that copying 3,000 of them would take 0.1 to 0.4 s. */
const pagesPerBulkCheckpoint = 800

/** Writes between two looks at the log. A look takes a microsecond. */
const writesPerLook = 8

/** How often the thread copies before the writer copies the rest. It has to once: the log only starts again
 *  after that. A large message may be written during a copy. */
const mostPasses = 3

/** After a second checkpoint so soon, a thread makes the next ones. */
const soonMs = 2_000

/** Copies the log into the file when it is long, also the pages of other processes. */
export interface Checkpoints {
  /** To be called after each transaction with the number of its writes, and whether it is bulk work: the
   *  search index, or a deletion. Returns whether a checkpoint is due when the event loop turns. */
  wrote(count: number, isBulk: boolean): boolean
  /** The end of the copy that a thread is making, if there is one. The handle is not closed before. */
  copying(): Promise<void> | null
  /** The same if the last write has to wait for it, because such writes fill the log faster than it is
   *  copied: bulk work, and all writes once the log is twice as long as it should be. */
  copyToWaitFor(isBulk: boolean): Promise<void> | null
  /** The thread, once it runs. */
  thread(): BlockingWorkThread | null
  /** Starts the thread, and waits until it runs. It does not if there can be none. */
  startThread(): Promise<void>
}

/** What a checkpoint asks of the disk with the log (log-sync.ts). */
export type LogDisk = Pick<LogSync, 'isSlow' | 'mayCopy' | 'mayCopyNow'>

const soundDisk: LogDisk = { isSlow: () => false, mayCopy: () => true, mayCopyNow: async () => true }

/** The functions of `blocking-work-thread.ts`, which is loaded when it is needed. */
export type BlockingWorkThread = typeof import('./blocking-work-thread.ts')

/** By default SQLite makes a checkpoint inside the commit of an append. Here it runs after the callers have
 *  their results, so that no append waits for it. A busy process, bulk work and a process with a slow disk
 *  have it made by a thread; another one that rarely needs one makes it itself, between two appends. */
export function checkpoints(db: Database, disk: LogDisk = soundDisk): Checkpoints {
  let writes = 0
  let isDue = false
  let most = pagesPerCheckpoint
  let look: Statement | undefined
  let lastAt = Number.NEGATIVE_INFINITY
  let thread: BlockingWorkThread | undefined
  let copying: Promise<void> | null = null
  let isTooLong = false

  return {
    wrote,
    copying: () => copying,
    copyToWaitFor: isBulk => (isBulk || isTooLong ? copying : null),
    thread: () => (thread?.isThreadReady() ? thread : null),
    startThread: async () => {
      const { askThread, isThreadReady } = await loadThread()
      // Its first answer says that it runs. No writer has this number.
      if (!isThreadReady()) await askThread('release', { writer: 0 }, { isIdle: false })
    },
  }

  function wrote(count: number, isBulk: boolean): boolean {
    writes += isBulk ? writesPerLook : count
    if (writes >= writesPerLook && !isDue) {
      writes = 0
      if (copying) {
        isTooLong = lookAtLog().log >= 2 * pagesPerCheckpoint
        return false
      }
      most = isBulk ? pagesPerBulkCheckpoint : pagesPerCheckpoint
      const state = lookAtLog()
      if (isLong(state, most)) {
        // Other processes do not wait for a thread of this one, and would write more than it copies.
        const isAlone = state.checkpointed <= 0
        if (isBulk || disk.isSlow() || (isAlone && thread?.isThreadReady())) copyInThread()
        else checkpointSoon()
      }
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
      checkpoint(most)
      const now = performance.now()
      if (now - lastAt < soonMs) void loadThread().then(({ startThread }) => startThread())
      lastAt = now
    })
  }

  function copyInThread(): void {
    copying = copyByThread(most).finally(() => {
      copying = null
      isTooLong = false
    })
  }

  /** Has the thread copy the log, several times if others write meanwhile, and copies the last few pages
   *  here. With a slow disk, the thread copies those too: each checkpoint waits for two syncs. Without a
   *  thread, all of them are copied here. */
  async function copyByThread(least: number): Promise<void> {
    const { askThread } = await loadThread()
    if (!(await disk.mayCopyNow())) return
    const isWhole = disk.isSlow()
    for (let passes = 1; passes <= mostPasses; passes++) {
      const work = { file: db.open ? fullPathOf(db) : '', isWhole }
      const answer = db.open ? await askThread('copy', work, { isIdle: false }) : null
      if (answer === null) return checkpoint(least)
      if (isWhole) return
      if (!db.open || uncopiedPages() < pagesPerBulkCheckpoint) break
    }
    checkpoint(1)
  }

  function uncopiedPages(): number {
    const { log, checkpointed } = lookAtLog()
    return log - checkpointed
  }

  /** Loaded lazily: a short command writes little. */
  async function loadThread() {
    thread ??= await import('./blocking-work-thread.ts')
    return thread
  }

  /** Copies a log of at least so many pages. */
  function checkpoint(least: number): void {
    if (!db.open || db.inTransaction || !disk.mayCopy()) return
    try {
      const state = lookAtLog()
      if (!isLong(state, least)) return
      const [{ busy }] = db.pragma(`wal_checkpoint(${modeFor(state)})`) as [{ busy: number }]
      // Another process has the lock: try again after the next write, when it may be free.
      if (busy !== 0) writes = writesPerLook
    } catch {
      // A full or unwritable disk is reported by the next write.
    }
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

/** The full path: the process may have changed its directory since it opened the file. */
export function fullPathOf(db: Database): string {
  return db.prepare(`SELECT file FROM pragma_database_list WHERE name = 'main'`).pluck().get() as string
}
