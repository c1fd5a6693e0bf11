import { budgetOf } from './budget.ts'
import type { Window } from './fitted.ts'

/** The windows to try, one after the other, as long as the provider finds the context too long: the window itself,
 *  half of what it allows, a quarter, and at last the newest question with the last step of what it began, in an
 *  eighth. Whoever is refused with the last of them has nothing left to leave out: the error is final. */
export function shrinkSteps(window: Window): readonly [whole: Window, ...smaller: Window[]] {
  return [window, share(window, 1 / 2), share(window, 1 / 4), { ...share(window, 1 / 8), maxMessages: 1 }]
}

/** A window that allows this part of what the given one does. Said by its limit, so that neither a threshold nor
 *  `maxTokens` is applied a second time. */
function share(window: Window, part: number): Window {
  const { maxTokens: _, reserveOutput = 0, ...rest } = window
  const budget = Math.max(1, Math.floor(budgetOf(window) * part))
  return { ...rest, reserveOutput, limit: budget + reserveOutput, threshold: 1 }
}
