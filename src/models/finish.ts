import type { LanguageModelV4FinishReason, LanguageModelV4Usage } from '@ai-sdk/provider'
import type { Block } from '../core/block.ts'
import type { Finish } from '../core/model.ts'
import type { Usage } from '../core/turn.ts'

/** Why an answer ended, in our words. What it holds counts for more than what the provider says: some say `stop` where
 *  they call tools, and calls that the provider runs itself are nobody's to answer. */
export function finishOf(reason: LanguageModelV4FinishReason['unified'], blocks: readonly Block[]): Finish {
  if (reason === 'length') return 'length'
  if (reason === 'content-filter') return 'filtered'
  if (blocks.some(block => block.type === 'tool_call')) return 'tool_calls'
  return reason === 'stop' ? 'stop' : 'other'
}

/** What a provider charged, in our words. */
export function usageOf({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage {
  const counts = {
    input: inputTokens.total,
    output: outputTokens.total,
    cacheRead: inputTokens.cacheRead,
    cacheWrite: inputTokens.cacheWrite,
    reasoning: outputTokens.reasoning,
  }
  return Object.fromEntries(Object.entries(counts).filter(([, tokens]) => tokens !== undefined))
}
