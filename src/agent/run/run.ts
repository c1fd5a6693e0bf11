import { forwardAbort } from '../../core/wait.ts'
import type { AgentEvent, Reply } from './events.ts'

/** A turn in progress: its events as they come, and its result. It runs also if its events are not read. */
export interface Run extends AsyncIterable<AgentEvent> {
  /** Resolves when the turn has ended. Rejects if it failed; an aborted turn resolves, as interrupted. */
  result(): Promise<Reply>
  /** Stops the turn. Everything up to now is kept. */
  abort(reason?: unknown): void
}

/** Starts `work`, and returns a run with the events that it emits. */
export function startRun(
  work: (emit: (event: AgentEvent) => void, signal: AbortSignal) => Promise<Reply>,
  outer?: AbortSignal,
): Run {
  const events: AgentEvent[] = []
  const inner = new AbortController()
  const endForwarding = forwardAbort(outer, inner)
  let wake = Promise.withResolvers<void>()
  const emit = (event: AgentEvent) => {
    events.push(event)
    wake.resolve()
    wake = Promise.withResolvers()
  }
  let over = false
  const result = work(emit, inner.signal)
    .then(reply => {
      emit({ type: 'ended', reply })
      return reply
    })
    .finally(() => {
      endForwarding()
      over = true
      wake.resolve()
    })
  // An unobserved run must not raise an unhandled rejection.
  result.catch(() => undefined)
  return {
    result: () => result,
    abort: reason => inner.abort(reason),
    async *[Symbol.asyncIterator]() {
      for (let next = 0; ; ) {
        const changed = wake.promise
        while (next < events.length) yield events[next++]!
        if (!over) await changed
        else if (next === events.length) break
      }
      // A loop over the events of a failed run must not end normally.
      await result
    },
  }
}
