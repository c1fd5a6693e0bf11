import { UnavailableError } from '../../core/errors.ts'
import { leaseMs } from '../../core/turn.ts'
import type { TurnWriter } from '../../core/turn-writer.ts'

/** Pauses between two tries to open a store. */
const firstPauseMs = 500
const longestPauseMs = 5_000

/** A store that may be away when it is first needed. Its methods wait for the first try to open it; while
 *  further tries fail, they throw the error of the last one at once. A store that cannot be opened for
 *  another reason than an outage is reported, and not tried again. */
export function lateStore<S extends Pick<TurnWriter, 'leaseMs'>>(
  open: () => Promise<S>,
  onRefused: (error: unknown) => void,
): S {
  let opened: S | null = null
  let failure: { readonly error: unknown } | null = null
  let attempt = connect(firstPauseMs)

  function connect(pauseMs: number): Promise<S> {
    const opening = open()
    opening.then(
      store => {
        opened = store
      },
      (error: unknown) => {
        failure = { error }
        if (!(error instanceof UnavailableError)) return onRefused(error)
        const again = () => {
          attempt = connect(Math.min(2 * pauseMs, longestPauseMs))
        }
        setTimeout(again, pauseMs).unref()
      },
    )
    return opening
  }

  return new Proxy({} as S, {
    get(_, name) {
      // The store itself is awaited, too.
      if (typeof name === 'symbol' || name === 'then') return undefined
      // Not a method: read before the store is open, it is the usual one.
      if (name === 'leaseMs') return opened?.leaseMs ?? leaseMs
      return async (...args: readonly unknown[]) => {
        if (!opened && failure) throw failure.error
        const store = opened ?? (await attempt)
        const method = store[name as keyof S] as (...given: readonly unknown[]) => unknown
        return method(...args)
      }
    },
  })
}
