import type { Usage } from '../core/turn.ts'

/** The built-in model, and models on the user's machine. */
export function isFree(model: string | null): boolean {
  return model === 'scripted' || model?.startsWith('ollama/') === true
}

/** The cost of a turn; null if the price is unknown. */
export function turnCost(model: string, usage: Usage): number | null {
  return usage.cost ?? (isFree(model) ? 0 : null)
}

/** The cost of a conversation; null if tokens were used at an unknown price. */
export function conversationCost({
  cost,
  tokensUsed,
  model,
}: {
  readonly cost: number
  readonly tokensUsed: number
  readonly model: string | null
}): number | null {
  return cost === 0 && tokensUsed > 0 && !isFree(model) ? null : cost
}
