import { isTurnUsedUp, nextTurn } from '../../system/event-loop-turns.ts'

/** Divides long work into pieces, between which other work of the process gets its turn. */
export interface Pace {
  /** Whether a turn of other work is due. */
  isDue(): boolean
  /** Gives way if it is due. Throws the reason of the signal once it is aborted. */
  breathe(): Promise<void>
  /** Whether the time is up. */
  isOver(): boolean
}

export function createPace(limits: { readonly budgetMs?: number; readonly signal?: AbortSignal }): Pace {
  const { budgetMs = Number.POSITIVE_INFINITY, signal } = limits
  const began = now()
  let piece: 'first' | 'next' = 'first'
  return {
    isDue: isTurnUsedUp,
    async breathe() {
      if (isTurnUsedUp()) await nextTurn(piece)
      piece = 'next'
      signal?.throwIfAborted()
    },
    isOver: () => now() - began >= budgetMs,
  }
}

/** Milliseconds. `performance` would have to be loaded first, which takes longer than a short search. */
function now(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1_000 + nanoseconds / 1e6
}
