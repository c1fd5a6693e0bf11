/** Work that pauses where other work of the process may run. A function that makes it may do a first part at
 *  once, before it returns. */
export type Stepwise<T> = Generator<undefined, T, undefined>

/** Does all of it without a pause. */
export function finishAtOnce<T>(work: Stepwise<T>): T {
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
  }
}

/** Continues with the result of other work. */
export function* thenDo<T, U>(work: Stepwise<T>, next: (result: T) => U): Stepwise<U> {
  return next(yield* work)
}

/** Work that is done. */
// biome-ignore lint/correctness/useYield: nothing is left to pause in.
export function* made<T>(result: T): Stepwise<T> {
  return result
}
