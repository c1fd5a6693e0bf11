import type { Usage } from '../../core/turn.ts'

/** The cost of a turn: as reported by the provider; 0 for the built-in model; otherwise unknown. */
export function turnCost(model: string, usage: Usage): number | null {
  return model === 'scripted' ? 0 : (usage.cost ?? null)
}

/** Null if tokens were used at an unknown price. */
export function conversationCost({
  cost,
  tokensUsed,
}: {
  readonly cost: number
  readonly tokensUsed: number
}): number | null {
  return cost === 0 && tokensUsed > 0 ? null : cost
}
