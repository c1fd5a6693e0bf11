import type { Stepwise } from '../core/large/stepwise.ts'
import { nextTurn } from './event-loop-turns.ts'

/** Does work that pauses, and lets the event loop turn at each pause. */
export async function finishInTurns<T>(work: Stepwise<T>): Promise<T> {
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
    await nextTurn()
  }
}
