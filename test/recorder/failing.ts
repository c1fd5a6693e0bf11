import type { Store } from '../../src/core/ports.ts'

type Method = Exclude<keyof Store, symbol>

/** The fate of one call: it fails before or after the store does it, or it hangs until `heal`, and passes or
 *  fails then. */
export type Fate =
  | null
  | { readonly before: Error }
  | { readonly after: Error }
  | { readonly late: Error }
  | 'hangs'

export interface FailingStore {
  readonly store: Store
  /** Decides the fate of each call; null lets it pass. */
  fate: (method: Method, call: number) => Fate
  /** Every call so far, in order. */
  readonly calls: Method[]
  /** Releases the hanging calls. */
  heal(): void
}

/** A real store behind a connection that can fail. */
export function failingStore(real: Store): FailingStore {
  const hanging: (() => void)[] = []
  const failing: FailingStore = {
    store: new Proxy(real, {
      get(target, name) {
        const method = name as Method
        const call = target[method] as (...args: unknown[]) => Promise<unknown>
        if (typeof call !== 'function') return call
        return async (...args: unknown[]) => {
          const fate = failing.fate(method, failing.calls.push(method) - 1)
          if (fate === 'hangs' || (fate && 'late' in fate))
            await new Promise<void>(resolve => hanging.push(resolve))
          else if (fate && 'before' in fate) throw fate.before
          if (fate && fate !== 'hangs' && 'late' in fate) throw fate.late
          const result = await call.apply(target, args)
          if (fate && fate !== 'hangs' && 'after' in fate) throw fate.after
          return result
        }
      },
    }),
    fate: () => null,
    calls: [],
    heal() {
      failing.fate = () => null
      for (const go of hanging.splice(0)) go()
    },
  }
  return failing
}
