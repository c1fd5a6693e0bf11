import type { UsageSum } from '../../core/measure.ts'

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

/** Adds what the engine has summed up. */
export function withSum(totals: UsageTotals, sum: UsageSum): UsageTotals {
  return {
    turns: totals.turns + sum.turns,
    input: totals.input + sum.input,
    output: totals.output + sum.output,
    cost: totals.cost + sum.cost,
    unpriced: totals.unpriced + (isFree(sum.model) ? 0 : sum.uncosted),
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
