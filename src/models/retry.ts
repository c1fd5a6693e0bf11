import { ModelError } from '../core/errors.ts'
import type { Model, ModelEvent, ModelRequest } from '../core/model.ts'
import { retryChannel } from '../system/debug.ts'
import { sleep as realSleep, type Sleep } from '../system/sleep.ts'

export interface RetryPolicy {
  /** Calls in all, the first included; 3 unless given. */
  readonly tries?: number
  /** The pause before the second call, doubled before each further one; 500 ms unless given. */
  readonly firstDelayMs?: number
  /** The longest pause that is made, also when the provider asks for it; 60 s unless given. */
  readonly longestDelayMs?: number
  /** From 0 to 1: spreads the pauses, so that many clients do not come back at once. */
  readonly random?: () => number
  readonly sleep?: Sleep
}

/** Asks again when a provider is busy, broken or out of reach, as long as nothing of an answer has been handed on: an
 *  answer is never begun twice. A provider that wants to be left alone for longer than the longest pause is. */
export function retried(model: Model, policy: RetryPolicy = {}): Model {
  return {
    id: model.id,
    stream: request => ({ [Symbol.asyncIterator]: () => attempts(model, request, policy) }),
  }
}

/** Looks only at the first event of each attempt. All others are handed on without a word, because every layer that an
 *  answer passes word by word costs. */
function attempts(model: Model, request: ModelRequest, policy: RetryPolicy): AsyncIterator<ModelEvent> {
  let begun: AsyncIterator<ModelEvent> | undefined
  const begin = async (): Promise<IteratorResult<ModelEvent>> => {
    const { tries = 3, sleep = realSleep } = policy
    for (let n = 1; ; n++) {
      const attempt = model.stream(request)[Symbol.asyncIterator]()
      try {
        const first = await attempt.next()
        begun = attempt
        return first
      } catch (error) {
        const pause = n >= tries || request.signal?.aborted ? null : pauseAfter(error, n, policy)
        if (pause === null) throw error
        if (retryChannel.hasSubscribers)
          retryChannel.publish({ what: 'model', attempt: n, pauseMs: pause, error })
        await sleep(pause, request.signal)
      }
    }
  }
  return {
    next: () => (begun === undefined ? begin() : begun.next()),
    return: async () => (await begun?.return?.()) ?? { done: true, value: undefined },
  }
}

/** How long to wait after the n-th failure; null if it is no use. */
function pauseAfter(error: unknown, n: number, policy: RetryPolicy): number | null {
  if (!(error instanceof ModelError) || !error.retryable) return null
  const { firstDelayMs = 500, longestDelayMs = 60_000, random = Math.random } = policy
  if (error.retryAfterMs !== null) return error.retryAfterMs > longestDelayMs ? null : error.retryAfterMs
  const spread = 0.5 + random() / 2
  return Math.min(longestDelayMs, Math.round(firstDelayMs * 2 ** (n - 1) * spread))
}
