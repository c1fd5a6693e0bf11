import type { AgentEvent, Reply } from './events.ts'

/** A turn that is going on: its events as they come, and its end. It goes on whether anybody listens or not. */
export interface Run extends AsyncIterable<AgentEvent> {
  /** The end of it. Rejects if the turn failed; an aborted one resolves, as interrupted. */
  result(): Promise<Reply>
  /** Stops it. What was said so far is kept. */
  abort(reason?: unknown): void
}

/** Starts `work` and shows what it emits as a run. */
export function startRun(
  work: (emit: (event: AgentEvent) => void, signal: AbortSignal) => Promise<Reply>,
  outer?: AbortSignal,
): Run {
  const events: AgentEvent[] = []
  const inner = new AbortController()
  const signal = outer ? AbortSignal.any([outer, inner.signal]) : inner.signal
  let wake = Promise.withResolvers<void>()
  const emit = (event: AgentEvent) => {
    events.push(event)
    wake.resolve()
    wake = Promise.withResolvers()
  }
  let over = false
  const result = work(emit, signal)
    .then(reply => {
      emit({ type: 'ended', reply })
      return reply
    })
    .finally(() => {
      over = true
      wake.resolve()
    })
  // Whoever asks for the result gets the error; a run that nobody asks must not end the process.
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
      // So that a loop over the events of a failed run does not end as if all were well.
      await result
    },
  }
}
