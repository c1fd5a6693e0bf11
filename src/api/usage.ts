import type { Usage } from '../core/turn.ts'
import type { JsonOf, usageSchema } from './schema/index.ts'

/** Usage as JSON. */
export type UsageJson = JsonOf<typeof usageSchema>

/** Tokens as JSON, without their cost. */
export type TokensJson = Omit<UsageJson, 'cost_usd'>

/** Maps usage to JSON, with the cost that the provider reported. */
export function usageJson(usage: Usage): UsageJson {
  return { ...tokensJson(usage), cost_usd: usage.cost ?? null }
}

/** Maps the tokens of a usage to JSON. */
export function tokensJson({ input, output, cacheRead, cacheWrite, reasoning }: Usage): TokensJson {
  return {
    input: input ?? null,
    output: output ?? null,
    cache_read: cacheRead ?? null,
    cache_write: cacheWrite ?? null,
    reasoning: reasoning ?? null,
  }
}
