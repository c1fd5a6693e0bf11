// `system` is what we ask of the machine: clock and timers (this file, `sleep.ts`), processes (`holder.ts`,
// `process-group.ts`), removal of secrets from texts, and channels for debugging (`debug.ts`). What decides
// something takes these as parameters, so that tests can inject others. May import core only.

import { randomUUID } from 'node:crypto'
import type { Holder } from '../core/errors.ts'
import type { Source } from '../core/source.ts'
import { isDead, isVisible, thisHolder } from './holder.ts'

/** The machine's clock and random ids. */
export const systemSource: Source = { now: () => Date.now(), uuid: () => randomUUID() }

/** What a recorder takes from its process. A parameter, so that tests can inject another one. */
export interface RecorderSource extends Source {
  /** The holder of the turns that begin here. */
  holder(): Holder
  /** Whether a holder is surely dead. */
  isDead(holder: Holder): boolean
  /** Whether a holder would be seen here if it lived, so that `isDead` tells both. */
  isVisible(holder: Holder): boolean
  /** Milliseconds of the monotonic clock, which cannot be set. */
  elapsed(): number
  /** Calls `run` once, after `ms`. Returns a function that cancels it. An `idle` timer does not keep the
   *  process alive. */
  after(ms: number, run: () => void, options?: { readonly idle?: boolean }): () => void
}

/** The machine's clock, random ids, timers and processes. */
export const systemRecorderSource: RecorderSource = {
  ...systemSource,
  holder: thisHolder,
  isDead,
  isVisible,
  elapsed: () => performance.now(),
  after(ms, run, { idle = false } = {}) {
    const timer = setTimeout(run, ms)
    if (idle) timer.unref()
    return () => clearTimeout(timer)
  },
}
