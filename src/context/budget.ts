import type { Window } from './fitted.ts'

/** Tokens that a context may have: min(`maxTokens`, threshold × limit), less what is kept for the answer. */
export function budgetOf({ limit, threshold = 0.8, maxTokens, reserveOutput = 0 }: Window): number {
  return Math.floor(Math.min(maxTokens ?? Number.POSITIVE_INFINITY, threshold * limit)) - reserveOutput
}
