import type { LanguageModelV4FinishReason, LanguageModelV4Usage } from '@ai-sdk/provider'
import type { Block } from '../core/block.ts'
import type { Finish } from '../core/model.ts'
import type { Usage } from '../core/turn.ts'

/** The finish reason of an answer. Its blocks count more than the provider's reason: some providers report
 *  `stop` for tool calls, and provider-executed calls need no result from us. */
export function finishOf(reason: LanguageModelV4FinishReason['unified'], blocks: readonly Block[]): Finish {
  if (reason === 'length') return 'length'
  if (reason === 'content-filter') return 'filtered'
  if (blocks.some(block => block.type === 'tool_call')) return 'tool_calls'
  return reason === 'stop' ? 'stop' : 'other'
}

/** The usage that a provider reports. */
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
