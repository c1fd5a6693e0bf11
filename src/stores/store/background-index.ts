import { checkChoice } from '../../core/check.ts'
import type { Engine } from '../engine/engine.ts'
import type { IndexPass } from '../programs/search/search-index.ts'
import type { Indexer } from './index-search.ts'

/** An engine whose writes are indexed in the background, if `mode` says so. */
export function withIndexing<E extends Engine>(engine: E, mode: 'background' | 'manual' = 'background'): E {
  if (checkChoice(mode, 'indexing', ['background', 'manual']) === 'manual') return engine
  const background = indexInBackground(engine)
  return {
    ...engine,
    write(program, writeMode) {
      background.wake()
      return engine.write(program, writeMode)
    },
    writeLarge(making) {
      background.wake()
      return engine.writeLarge(making)
    },
    noteUnindexed: background.wake,
    async close() {
      background.close()
      await engine.close()
    },
  }
}

/** Calls `run` once, after `ms`, and returns a function that cancels it. Does not keep the process alive. */
export type IdleTimer = (ms: number, run: () => void) => () => void

const systemTimer: IdleTimer = (ms, run) => {
  const timer = setTimeout(run, ms)
  timer.unref()
  return () => clearTimeout(timer)
}

/** Without a write for so long, the process counts as idle. */
const quietMs = 50
/** A process that is never idle indexes one batch after so many times `quietMs`. */
const mostBusy = 20
/** After everything was indexed, so that a slow writer causes few transactions of the index. A search also
 *  finds what is not yet in it. */
const restMs = 1_000
/** Until conversations are tried again that were locked. */
const lockedMs = 1_000
/** Between two batches, so that other processes can write. */
const gapMs = 3

/** Indexes what the store writes while its process is idle, in short batches. */
export interface BackgroundIndex {
  /** There may be something to index. Costs next to nothing: every write calls it. */
  wake(): void
  /** Ends it, without waiting for a batch. */
  close(): void
}

/** One process at a time indexes a store. If a batch fails, because the disk is full or the server is away,
 *  the next write tries again. */
export function indexInBackground(engine: Engine, after: IdleTimer = systemTimer): BackgroundIndex {
  let indexer: Indexer | undefined
  let cancel: (() => void) | null = null
  let isRunning = false
  let isClosed = false
  let calls = 0
  let seen = 0
  let busyTimes = 0
  let pass: IndexPass | null = null
  let isPartial = false
  return {
    wake() {
      calls++
      if (cancel === null && !isRunning) wait(quietMs)
    },
    close() {
      isClosed = true
      cancel?.()
    },
  }

  function wait(ms: number): void {
    if (!isClosed) cancel = after(ms, tick)
  }

  function tick(): void {
    cancel = null
    const isBusy = calls !== seen
    seen = calls
    if (isBusy && ++busyTimes < mostBusy) {
      wait(quietMs)
      return
    }
    busyTimes = 0
    isRunning = true
    void indexSome()
      .catch(() => null)
      .then(pauseMs => {
        isRunning = false
        if (pauseMs !== null) wait(pauseMs)
        else rest()
      })
  }

  function rest(): void {
    if (isClosed) return
    cancel = after(restMs, () => {
      cancel = null
      if (calls === seen) return
      seen = calls
      wait(quietMs)
    })
  }

  /** Returns when to continue, or null if everything is indexed. */
  async function indexSome(): Promise<number | null> {
    // Loaded lazily: a short program ends before it is idle.
    const { createIndexer, endlessPass, indexLeaseMs } = await import('./index-search.ts')
    if (isClosed || !engine.isFree()) return quietMs
    indexer ??= createIndexer(engine)
    const batch = await indexer.step(pass ?? endlessPass, 'wait')
    if (batch === null) return indexLeaseMs
    pass = batch.next
    isPartial ||= batch.leftOut > 0
    if (pass !== null) return gapMs
    const again = isPartial ? lockedMs : null
    isPartial = false
    return again
  }
}
