import type { Turn } from '../../core/turn.ts'

/** What was used by some turns. */
export interface UsageTotals {
  readonly turns: number
  readonly input: number
  readonly output: number
  /** What the turns cost whose price is known. */
  readonly cost: number
  /** Tokens of turns whose price is not known. */
  readonly unpriced: number
}

export const noUsage: UsageTotals = { turns: 0, input: 0, output: 0, cost: 0, unpriced: 0 }

/** Adds one turn. */
export function withTurn(totals: UsageTotals, { usage, model }: Pick<Turn, 'usage' | 'model'>): UsageTotals {
  const { input = 0, output = 0 } = usage
  const cost = usage.cost ?? (isFree(model) ? 0 : undefined)
  return {
    turns: totals.turns + 1,
    input: totals.input + input,
    output: totals.output + output,
    cost: totals.cost + (cost ?? 0),
    unpriced: totals.unpriced + (cost === undefined ? input + output : 0),
  }
}

/** What it cost; null if tokens were used and no price is known for any of them. */
export function costOf({ cost, unpriced }: UsageTotals): number | null {
  return cost === 0 && unpriced > 0 ? null : cost
}

/** The built-in model, and models of one's own machine. */
function isFree(model: string | null): boolean {
  return model === 'scripted' || model?.startsWith('ollama/') === true
}
