import { randomUUID } from 'node:crypto'
import type { Holder } from '../core/errors.ts'
import type { Source } from '../core/source.ts'
import { isDead, thisHolder } from './holder.ts'

/** What a recorder takes from its process: a parameter, so that tests can decide. */
export interface RecorderSource extends Source {
  /** Who holds the turns that are begun. */
  holder(): Holder
  /** Whether a holder is surely dead. */
  isDead(holder: Holder): boolean
  /** Calls `run` once, later, and returns how to call it off. An `idle` timer does not keep the process alive. */
  after(ms: number, run: () => void, options?: { readonly idle?: boolean }): () => void
}

/** The machine's own clock, randomness, timers and processes. */
export const systemRecorderSource: RecorderSource = {
  now: () => Date.now(),
  uuid: () => randomUUID(),
  holder: thisHolder,
  isDead,
  after(ms, run, { idle = false } = {}) {
    const timer = setTimeout(run, ms)
    if (idle) timer.unref()
    return () => clearTimeout(timer)
  },
}
