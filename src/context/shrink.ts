import { budgetOf } from './budget.ts'
import type { Window } from './fitted.ts'

/** The windows to try, one after the other, as long as the provider finds the context too long: the window itself,
 *  half of what it allows, a quarter, and at last the newest question with the last step of what it began, in an
 *  eighth. `pinned` are the tokens of what is sent in any case, the system prompt and the tools: as they cannot become
 *  less, the shares are of the rest. Whoever is refused with the last window has nothing left to leave out: the error
 *  is final. */
export function shrinkSteps(window: Window, pinned = 0): readonly [whole: Window, ...smaller: Window[]] {
  const share = (part: number) => shareOf(window, pinned, part)
  return [window, share(1 / 2), share(1 / 4), { ...share(1 / 8), maxMessages: 1 }]
}

/** A window that allows this part of what the given one does. Said by its limit, so that neither a threshold nor
 *  `maxTokens` is applied a second time. */
function shareOf(window: Window, pinned: number, part: number): Window {
  const { maxTokens: _, reserveOutput = 0, ...rest } = window
  const whole = budgetOf(window)
  const fixed = Math.min(pinned, whole)
  const budget = Math.max(1, fixed + Math.floor((whole - fixed) * part))
  return { ...rest, reserveOutput, limit: budget + reserveOutput, threshold: 1 }
}
