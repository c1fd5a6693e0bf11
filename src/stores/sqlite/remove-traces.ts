import { setImmediate } from 'node:timers'
import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from 'better-sqlite3'
import type { CompactReceipt, Remnant } from '../../core/removal.ts'
import { translate } from './errors.ts'
import { retryWhileBusy } from './retry-while-busy.ts'
import { type RewriteStep, rewriteInChild } from './rewrite-in-child.ts'

/** Deleted content leaves bytes in four places of a file: the free space of pages, which `secure_delete`
 *  overwrites; copies of rows in pages that SQLite has rebalanced, which only VACUUM removes; the segments of
 *  the search index, which keep the words of deleted messages until they are merged; and the write-ahead log,
 *  which keeps the old pages until it is truncated. */

/** The largest file that is rewritten after a deletion. Takes about a quarter of a second. In a larger file,
 *  a copy of a row that SQLite moved between pages may remain until `compact`. */
const rewriteBytes = 16 * 1024 * 1024

/** A larger file is rewritten in another process. Up to here it takes about 30 ms, less than starting one. */
const inlineBytes = 2 * 1024 * 1024

/** Pages of the search index to merge in one transaction, so that other writers need not wait long. */
const pagesPerMerge = 256

export interface RemovalOptions {
  /** Whether the handle is ours: another process can open the file. */
  readonly owned: boolean
  readonly signal: AbortSignal
}

/** Removes the bytes of deleted content from the file and its log. Returns where some may remain. */
export async function removeTraces(
  db: Database,
  { owned, signal }: RemovalOptions,
): Promise<readonly Remnant[]> {
  if (db.memory) return []
  // The handle's owner has not committed yet, so the content is still needed.
  if (!db.open || db.inTransaction) return ['file', 'log', 'backups']
  let isClean = false
  try {
    // Not on a borrowed handle: VACUUM rewrites the owner's tables too, and may renumber their rows.
    const rewrites = owned && bytesOf(db) <= rewriteBytes
    const steps: readonly RewriteStep[] = rewrites ? ['merge', 'vacuum'] : ['merge']
    if (!(owned && (await rewritten(db, steps, signal)))) {
      await mergeSearchIndex(db, owned)
      if (rewrites) await retryWhileBusy(() => db.exec('VACUUM'))
    }
    isClean = rewrites
  } catch {
    // Another process holds the file, or the disk is full. The caller learns it from the receipt.
  }
  return [...(isClean ? [] : ['file' as const]), ...(await truncateLog(db)), 'backups']
}

/** Rewrites a large file in another process. Returns false if that is not possible. */
async function rewritten(db: Database, steps: readonly RewriteStep[], signal: AbortSignal): Promise<boolean> {
  return !db.memory && bytesOf(db) > inlineBytes && (await rewriteInChild(db, steps, signal))
}

/** Rewrites the whole file. Throws if it cannot. */
export async function compactFile(db: Database, { owned, signal }: RemovalOptions): Promise<CompactReceipt> {
  try {
    const bytesBefore = bytesOf(db)
    if (!(owned && (await rewritten(db, ['optimize', 'vacuum'], signal)))) {
      await retryWhileBusy(
        () => {
          optimize(db)
          db.exec('VACUUM')
        },
        () => !db.inTransaction,
      )
    }
    const remains: Remnant[] = db.memory ? [] : [...(await truncateLog(db)), 'backups']
    return { bytesBefore, bytesAfter: bytesOf(db), remains }
  } catch (error) {
    throw translate(error, db.memory ? null : db.name)
  }
}

/** Deleted entries stay in the segments of the index until those are merged. */
async function mergeSearchIndex(db: Database, owned: boolean): Promise<void> {
  // FTS5 stores tombstones under the segment's number plus 65,536, shifted by 37 bits.
  const tombstone = db.prepare('SELECT 1 FROM skein_search_data WHERE id >= 1 << 53 LIMIT 1')
  // A negative number of pages merges segments of all levels.
  const merge = db.prepare(`INSERT INTO skein_search (skein_search, rank) VALUES ('merge', ?)`)
  const total = db.prepare('SELECT total_changes()').pluck()
  while (tombstone.get()) {
    const before = total.get() as number
    await retryWhileBusy(() => zeroing(db, owned, () => merge.run(-pagesPerMerge)))
    // As FTS5 documents it: fewer than two changes mean that there was nothing to merge.
    if ((total.get() as number) - before < 2) {
      await retryWhileBusy(() => zeroing(db, owned, () => optimize(db)))
      return
    }
    await new Promise(resolve => setImmediate(resolve))
  }
}

function optimize(db: Database): void {
  db.exec(`INSERT INTO skein_search (skein_search) VALUES ('optimize')`)
}

/** Overwrites the pages that the work frees, also on a handle whose owner does not want that. */
function zeroing(db: Database, owned: boolean, work: () => void): void {
  if (owned) {
    work()
    return
  }
  const before = db.pragma('secure_delete', { simple: true })
  db.pragma('secure_delete = ON')
  try {
    work()
  } finally {
    db.pragma(`secure_delete = ${before}`)
  }
}

/** How long to wait for readers of the log in other processes. */
const readersMs = 1_000

/** Returns `log` if another process was using it. */
async function truncateLog(db: Database): Promise<readonly 'log'[]> {
  const deadline = performance.now() + readersMs
  try {
    for (;;) {
      const [state] = await retryWhileBusy(() => db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[])
      if (state?.busy === 0) return []
      if (performance.now() >= deadline) return ['log']
      await pause(10)
    }
  } catch {
    return ['log']
  }
}

/** The size of a database, without its log. */
export function bytesOf(db: Database): number {
  const of = (name: string) => db.pragma(name, { simple: true }) as number
  return of('page_count') * of('page_size')
}
