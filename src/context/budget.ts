import { InvalidError } from '../core/errors.ts'
import type { Window } from './fitted.ts'

/** Tokens that a context may have: min(`maxTokens`, threshold × limit), less what is kept for the answer. Throws
 *  InvalidError for a window that is none: compared with what is not a number, everything would fit. */
export function budgetOf(window: Window): number {
  checkWindow(window)
  const { limit, threshold = 0.8, maxTokens = Number.POSITIVE_INFINITY, reserveOutput = 0 } = window
  return Math.floor(Math.min(maxTokens, threshold * limit)) - reserveOutput
}

function checkWindow(window: Window): void {
  for (const field of ['limit', 'maxTokens'] as const) {
    const value = window[field]
    if (value !== undefined && !(value > 0)) throw new InvalidError(`window.${field}`, 'must be above 0')
  }
  for (const field of ['reserveOutput', 'keepRecent', 'maxMessages', 'maxChars'] as const) {
    const value = window[field]
    if (value !== undefined && !(value >= 0)) throw new InvalidError(`window.${field}`, 'must not be below 0')
  }
  const { threshold = 1 } = window
  if (!(threshold > 0 && threshold <= 1)) {
    throw new InvalidError('window.threshold', 'must be above 0, and 1 at most')
  }
}
