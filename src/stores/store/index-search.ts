import { plural } from '../../core/amount.ts'
import { ReadOnlyError, StorageFullError, UnavailableError } from '../../core/errors.ts'
import type { IndexOptions } from '../../core/listing.ts'
import { nextTurn } from '../../system/event-loop-turns.ts'
import { finishInTurns } from '../../system/finish-in-turns.ts'
import { sleep } from '../../system/sleep.ts'
import type { Engine } from '../engine/engine.ts'
import type { Conv } from '../engine/rows.ts'
import { type ClaimMode, claimIndexing, indexLeaseMs } from '../programs/search/claim-indexing.ts'
import {
  type BatchSize,
  countIndexParts,
  endlessPass,
  type IndexBatch,
  type IndexPass,
  makeEntries,
  passAfter,
  readBatch,
  tidyIndex,
  type UnindexedPage,
  unindexedAfter,
  writeBatch,
} from '../programs/search/search-index.ts'
import { createPace, type Pace } from './pace.ts'

export { endlessPass, indexLeaseMs }

/** Milliseconds that a batch should take of the process, so that other work need not wait. */
const batchMs = 7

/** Milliseconds that it may take with the time of a server, which locks the conversations meanwhile, or of a
 *  thread, which locks the store. */
const lockedMs = { server: 100, thread: 30 }

/** While a caller waits for the index: between two attempts with conversations that are locked, and for how
 *  long to try. */
const lockedAgainMs = 100
const patienceMs = 5_000

/** While a caller waits for the index, a server merges so many times as many messages at once. Each merge
 *  rewrites a large part of the index. */
const midwayShare = 4

const smallest: BatchSize = { messages: 8, chars: 8_192 }
const largest: BatchSize = { messages: 400, chars: 1_048_576 }

/** Indexes batch after batch. The size of a batch follows the time that the last one took. */
export interface Indexer {
  /** Indexes the next messages of a pass. If another process indexes, does nothing and returns null. */
  step(pass: IndexPass, claim: ClaimMode): Promise<IndexStep | null>
}

export interface IndexStep {
  /** The messages that are indexed now, including those without a text. */
  readonly count: number
  /** The number of conversations that were left out. They may be locked: then another pass has to index
   *  them. */
  readonly leftOut: number
  /** Where to continue, or null at the end of the pass. */
  readonly next: IndexPass | null
}

export function createIndexer(engine: Engine): Indexer {
  let size = smallest
  let lease: number | null = null
  let untidy = 0
  const isServer = engine.rowsPerStatement === null
  const longest = isServer ? lockedMs.server : lockedMs.thread
  return {
    async step(pass, mode) {
      const began = performance.now()
      const busy = performance.eventLoopUtilization()
      const batch = await engine.query(() => readBatch(pass, size))
      if (batch.marks.length === 0) {
        await tidyAfter(engine.tidyAfter, mode)
        return { count: 0, leftOut: 0, next: batch.next }
      }
      const entries = await finishInTurns(makeEntries(batch, engine.indexForm))
      const now = engine.source.now()
      const written = await engine.write(function* () {
        const until = yield* claimIndexing({ held: lease, now, mode })
        return until === null ? null : { until, leftOut: yield* writeBatch(batch, entries) }
      }, 'bulk')
      lease = written?.until ?? null
      if (written === null) return null
      const { leftOut } = written
      const { active } = performance.eventLoopUtilization(busy)
      size = nextSize(size, batch, Math.max(active / batchMs, (performance.now() - began) / longest))
      untidy += batch.count
      const isMidway = isServer && mode === 'force' && batch.next !== null
      await tidyAfter(engine.tidyAfter * (isMidway ? midwayShare : 1), mode)
      const count = leftOut.reduce((sum, { messages }) => sum - messages, batch.count)
      return { count, leftOut: leftOut.length, next: passAfter(batch, leftOut) }
    },
  }

  async function tidyAfter(messages: number, mode: ClaimMode): Promise<void> {
    if (untidy < messages) return
    untidy = 0
    await nextTurn()
    // Waits for the merge: segments that are added meanwhile would make searches slow.
    if (!(await engine.indexElsewhere('tidy', mode === 'wait'))) await engine.write(tidyIndex, 'bulk')
  }
}

/** A batch that took too long makes the next one smaller, in proportion. Growth is gradual. */
function nextSize(size: BatchSize, { count, chars, next }: IndexBatch, load: number): BatchSize {
  if (next === null && load < 1) return size
  const factor = Math.min(2, 1 / Math.max(0.01, load))
  const scaled = (most: number, used: number, least: number, limit: number) =>
    Math.round(Math.min(limit, Math.max(least, (factor < 1 ? Math.max(1, used) : most) * factor)))
  return {
    messages: scaled(size.messages, count, smallest.messages, largest.messages),
    chars: scaled(size.chars, chars, smallest.chars, largest.chars),
  }
}

/** Indexes everything and returns the number of messages. On a read-only store, and on a full disk, it ends
 *  early. */
export async function indexAll(engine: Engine, { signal, onProgress }: IndexOptions): Promise<number> {
  const pace = createPace({ ...(signal && { signal }) })
  const indexer = createIndexer(engine)
  let count = 0
  await pace.breathe()
  const { ends, total } = await unindexedNow(engine, pace)
  if (total === 0) return 0
  try {
    for (let stalledMs = 0; ; ) {
      const before = count
      const leftOut = await runPass()
      if (leftOut === 0) break
      stalledMs = count > before ? 0 : stalledMs + lockedAgainMs
      if (stalledMs >= patienceMs) throw lockedTooLong(leftOut)
      await sleep(lockedAgainMs, signal)
    }
    await tidyParts(engine, pace)
  } catch (error) {
    if (!(error instanceof ReadOnlyError || error instanceof StorageFullError)) throw error
  }
  return count

  /** Returns the number of conversations that were left out. */
  async function runPass(): Promise<number> {
    let leftOut = 0
    for (let pass: IndexPass | null = { after: null, ends }; pass; ) {
      await pace.breathe()
      const step: IndexStep = (await indexer.step(pass, 'force'))!
      count += step.count
      leftOut += step.leftOut
      pass = step.next
      onProgress?.({ messages: count, total: Math.max(total, count) })
    }
    return leftOut
  }
}

function lockedTooLong(conversations: number): UnavailableError {
  const locked = `${plural(conversations, 'conversation')} for more than ${patienceMs / 1_000} s`
  return new UnavailableError(`transactions of other programs have locked ${locked}`, {
    hint: 'Try again when they have ended',
  })
}

/** Parts of the index that searches hardly notice. A complete merge leaves up to three of each size. */
const fewParts = 16

/** Most pieces of work for one `indexAll`, if other processes add parts meanwhile. */
const mostPieces = 200

/** Merges parts of the index until they are few: short batches leave many, and the next ones may be hours
 *  away. */
async function tidyParts(engine: Engine, pace: Pace): Promise<void> {
  for (let piece = 0; piece < mostPieces; piece++) {
    if ((await engine.query(countIndexParts)) <= fewParts) return
    await pace.breathe()
    // Another process merges everything at once.
    if (await engine.indexElsewhere('tidy', false)) return
    await engine.write(tidyIndex, 'bulk')
  }
}

/** Where each conversation with unindexed messages ends, and the number of those messages, at most. */
async function unindexedNow(
  { query }: Engine,
  pace: Pace,
): Promise<{ ends: ReadonlyMap<Conv, number>; total: number }> {
  const ends = new Map<Conv, number>()
  let total = 0
  for (let after: Conv | null = null; ; ) {
    const from: Conv | null = after
    const { conversations, isLast }: UnindexedPage = await query(() => unindexedAfter(from))
    for (const { conv, indexed_seq, next_seq } of conversations) {
      ends.set(conv, next_seq)
      total += next_seq - indexed_seq
      after = conv
    }
    if (isLast) return { ends, total }
    await pace.breathe()
  }
}
