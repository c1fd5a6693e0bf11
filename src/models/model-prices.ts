import type { Usage } from '../core/turn.ts'

/** The price of a model, in dollars per million tokens. */
export interface ModelPrice {
  /** Input tokens that no cache is involved in. */
  readonly input: number
  /** Output tokens, including those of reasoning. */
  readonly output: number
  /** Input tokens that the provider reads from its cache. If absent, a call that reads some has no cost. */
  readonly cacheRead?: number
  /** Input tokens that the provider writes to its cache. If absent, a call that writes some has no cost. */
  readonly cacheWrite?: number
  /** The price of a whole call with more input tokens than `tokens`. */
  readonly above?: Omit<ModelPrice, 'above'> & { readonly tokens: number }
}

/** The day on which the prices were read. */
export const pricesAsOf = '2026-11-16'

/** Published prices of the models that Skein names, for pay-as-you-go calls. Sources: for Anthropic
 *  platform.claude.com/docs/en/about-claude/pricing and the page of each model (cache writes of 5 minutes);
 *  for OpenAI developers.openai.com/api/docs/pricing; for Google ai.google.dev/gemini-api/docs/pricing (text;
 *  Google charges for the storage of explicit caches only). A model without a source is left out. "Quoted"
 *  marks prices that were read on a page that quotes the provider's, not on the provider's own. */
const prices: Readonly<Record<string, ModelPrice>> = {
  'anthropic/claude-opus-5-5': { input: 4, output: 20, cacheRead: 0.2, cacheWrite: 5 },
  'anthropic/claude-opus-5': { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 },
  'anthropic/claude-opus-4-8': { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 },
  'anthropic/claude-opus-4-7': { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 },
  'anthropic/claude-opus-4-6': { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 },
  'anthropic/claude-opus-4-5': { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 },
  // Quoted: the price of cache reads since 2026-10-07 (docs.rs/synaps, read on 2026-10-10). Before: 0.2.
  'anthropic/claude-sonnet-5-5': { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 },
  'anthropic/claude-sonnet-5': { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 },
  'anthropic/claude-sonnet-4-6': { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
  'anthropic/claude-sonnet-4-5': { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
  // Quoted: cache prices, and the prices above 100,000 tokens (docs.rs/synaps, read on 2026-10-10).
  'anthropic/claude-haiku-5-5': {
    ...{ input: 0.1, output: 0.5, cacheRead: 0.01, cacheWrite: 0.125 },
    above: { tokens: 100_000, input: 0.5, output: 2.5, cacheRead: 0.05, cacheWrite: 0.625 },
  },
  'anthropic/claude-haiku-4-5': { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 },
  // Quoted: all prices of gpt-5.5 and gpt-5.4 (docs.apiyi.com, docs.rs/adk-model).
  'openai/gpt-5.5': {
    ...{ input: 5, output: 30, cacheRead: 0.5 },
    above: { tokens: 272_000, input: 10, output: 45, cacheRead: 1 },
  },
  'openai/gpt-5.4': {
    ...{ input: 2.5, output: 15, cacheRead: 0.25 },
    above: { tokens: 272_000, input: 5, output: 22.5, cacheRead: 0.5 },
  },
  'openai/gpt-5': { input: 1.25, output: 10, cacheRead: 0.125 },
  // Quoted: all prices (morphllm.com/gemini-api-pricing).
  'google/gemini-3.5-flash': { input: 1.5, output: 9, cacheRead: 0.15 },
  'google/gemini-2.5-pro': {
    ...{ input: 1.25, output: 10, cacheRead: 0.125 },
    above: { tokens: 200_000, input: 2.5, output: 15, cacheRead: 0.25 },
  },
}

/** The published price of a model, by provider and name; null if it is not known. A date at the end of the
 *  name is ignored, any other ending is another model.
 *
 * @example
 * ```ts
 * import { priceOf } from 'skein/models'
 *
 * console.log(priceOf('openai/gpt-5')?.input) // 1.25
 * console.log(priceOf('compatible/mine')) // null
 * ```
 */
export function priceOf(model: string): ModelPrice | null {
  const name = model.toLowerCase().replace(/-(20\d{6}|20\d\d-\d\d-\d\d)$/, '')
  return Object.hasOwn(prices, name) ? prices[name]! : null
}

/** The cost of a call in dollars; null if its tokens or one of their prices are not known. */
export function costOf(
  { input, output, cacheRead = 0, cacheWrite = 0 }: Usage,
  price: ModelPrice,
): number | null {
  if (input === undefined || output === undefined) return null
  const { above } = price
  const rates = above !== undefined && input > above.tokens ? above : price
  const parts = [
    [Math.max(0, input - cacheRead - cacheWrite), rates.input],
    [cacheRead, rates.cacheRead],
    [cacheWrite, rates.cacheWrite],
    [output, rates.output],
  ] as const
  let millionths = 0
  for (const [tokens, rate] of parts) {
    if (tokens > 0 && rate === undefined) return null
    millionths += tokens * (rate ?? 0)
  }
  return millionths / 1_000_000
}
