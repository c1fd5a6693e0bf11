import { ModelError } from '../core/errors.ts'
import type { Model, ModelEvent, ModelRequest } from '../core/model.ts'
import { retryChannel } from '../system/debug.ts'
import { sleep as realSleep, type Sleep } from '../system/sleep.ts'

/** When and how often a failed call is repeated. */
export interface RetryPolicy {
  /** Most attempts, including the first. Default: 3. */
  readonly tries?: number
  /** The pause before the second attempt; it doubles before each further one. Default: 500 ms. */
  readonly firstDelayMs?: number
  /** The longest pause, also if the provider asks for more. Default: 60 s. */
  readonly longestDelayMs?: number
  /** A random number from 0 to 1, to spread the retries of many clients. */
  readonly random?: () => number
  /** Waits between two attempts. Default: a timer. Tests inject another one. */
  readonly sleep?: Sleep
}

/** Retries a call if the provider is busy, failing or unreachable, as long as no event of an answer was
 *  emitted: an answer never begins twice. Does not retry if the provider asks for a longer pause than the
 *  longest. */
export function retried(model: Model, policy: RetryPolicy = {}): Model {
  return {
    id: model.id,
    stream: request => ({ [Symbol.asyncIterator]: () => attempts(model, request, policy) }),
  }
}

/** Inspects only the first event of each attempt, and delegates the rest, because each layer costs time for
 *  every piece of an answer. */
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
        if (!(error instanceof ModelError)) throw error
        const pause = n >= tries || request.signal?.aborted ? null : pauseAfter(error, n, policy)
        if (pause === null) throw n === 1 ? error : afterAttempts(error, n)
        request.onRetry?.({ error, waitMs: pause, left: tries - n })
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

/** The error of the last attempt, which says how many there were. */
function afterAttempts(error: ModelError, attempts: number): ModelError {
  const { model, kind, hint, status, retryable, retryAfterMs, cause } = error
  const problem = error.message.slice(model.length + 2).replace(/\.$/, '')
  return new ModelError(model, `${problem}, after ${attempts} attempts`, {
    kind,
    hint,
    retryable,
    attempts,
    ...(status !== null && { status }),
    ...(retryAfterMs !== null && { retryAfterMs }),
    ...(cause !== undefined && { cause }),
  })
}

/** How long to wait after the n-th failure; null if a retry is useless. */
function pauseAfter(error: ModelError, n: number, policy: RetryPolicy): number | null {
  if (!error.retryable) return null
  const { firstDelayMs = 500, longestDelayMs = 60_000, random = Math.random } = policy
  if (error.retryAfterMs !== null) return error.retryAfterMs > longestDelayMs ? null : error.retryAfterMs
  const spread = 0.5 + random() / 2
  return Math.min(longestDelayMs, Math.round(firstDelayMs * 2 ** (n - 1) * spread))
}
