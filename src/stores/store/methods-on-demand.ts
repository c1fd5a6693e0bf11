import { errorText } from '../../core/error-text.ts'
import { UnavailableError } from '../../core/errors.ts'

/** Runs the calls of a store in their order while a part of its methods is loaded. */
export interface CallOrder {
  /** Runs a call: at once, or after the part that an earlier call needs. */
  inOrder<T>(call: () => Promise<T>): Promise<T>
  /** The same for a call that needs a part. Later calls wait for the part too. */
  afterLoad<T>(load: () => Promise<unknown>, call: () => Promise<T>): Promise<T>
}

export function callOrder(): CallOrder {
  let loading: Promise<void> | null = null
  return {
    inOrder: call => (loading ? loading.then(call) : call()),
    afterLoad(load, call) {
      const loaded = (loading ?? Promise.resolve()).then(load)
      // A part that cannot be loaded fails the calls that need it, and no others.
      const settled = loaded.then(nothing, nothing)
      loading = settled
      void settled.then(() => {
        if (loading === settled) loading = null
      })
      return loaded.then(call)
    },
  }
}

function nothing(): void {}

/** A value of a module that is loaded when it is first needed. */
export interface LoadedPart<T> {
  /** The value, if it is loaded. */
  current(): T | undefined
  /** For a caller that has loaded it. */
  set(value: T): void
  load(): Promise<T>
}

export function loadedPart<T>(load: () => Promise<T>): LoadedPart<T> {
  let value: T | undefined
  return {
    current: () => value,
    set: given => {
      value = given
    },
    load: async () => {
      try {
        value ??= await load()
        return value
      } catch (cause) {
        // A process without a free file descriptor can try again later.
        throw new UnavailableError(`a file of Skein cannot be loaded: ${errorText(cause)}`, {
          cause,
          hint: 'Try again. If the package was removed or replaced, start the program again',
        })
      }
    },
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the methods have different parameters
type Methods<N extends string> = Record<N, (...args: any[]) => Promise<unknown>>

/** The methods of a part, which are loaded when one of them is first called. From then on a call runs at
 *  once, as if they had been there. */
export function methodsOnDemand<P, N extends string, M extends Methods<N>>(
  names: readonly N[],
  part: LoadedPart<(parts: P) => M>,
  parts: P,
  order: CallOrder,
): M {
  let made: M | undefined
  const methods = () => {
    made ??= part.current()!(parts)
    return made
  }
  const stubs = names.map(name => [
    name,
    (...args: unknown[]) => {
      const call = () => methods()[name](...args)
      return part.current() ? order.inOrder(call) : order.afterLoad(part.load, call)
    },
  ])
  return Object.fromEntries(stubs) as M
}
