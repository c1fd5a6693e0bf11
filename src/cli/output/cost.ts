import type { Usage } from '../../core/turn.ts'

/** What a turn cost: as the provider says, nothing with the built-in model, otherwise nobody knows. */
export function turnCost(model: string, usage: Usage): number | null {
  return model === 'scripted' ? 0 : (usage.cost ?? null)
}

/** Null if tokens were charged and nobody knows for how much. */
export function conversationCost({
  cost,
  tokensUsed,
}: {
  readonly cost: number
  readonly tokensUsed: number
}): number | null {
  return cost === 0 && tokensUsed > 0 ? null : cost
}
