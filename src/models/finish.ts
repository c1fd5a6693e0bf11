import type { LanguageModelV4FinishReason, LanguageModelV4Usage } from '@ai-sdk/provider'
import type { Block } from '../core/block.ts'
import type { Finish } from '../core/model.ts'
import { reportedTokens } from '../core/tokens.ts'
import type { Usage } from '../core/turn.ts'

/** The finish reason of an answer. Its blocks count more than the provider's reason: some providers report
 *  `stop` for tool calls, and provider-executed calls need no result from us. */
export function finishOf(
  { unified: reason, raw }: LanguageModelV4FinishReason,
  blocks: readonly Block[],
): Finish {
  if (reason === 'length') return 'length'
  if (reason === 'content-filter') return isRefusal(raw) ? 'refused' : 'filtered'
  if (blocks.some(block => block.type === 'tool_call')) return 'tool_calls'
  return reason === 'stop' ? 'stop' : 'other'
}

/** Anthropic says `refusal`. OpenAI and compatible servers end normally, with a refusal as the text. A filter
 *  has a name of its own. */
function isRefusal(raw: string | undefined): boolean {
  return raw === undefined || raw === 'refusal' || raw === 'stop'
}

/** The usage that a provider reports, without counts that cannot be right. */
export function usageOf({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage {
  const counts = {
    input: reportedTokens(inputTokens.total),
    output: reportedTokens(outputTokens.total),
    cacheRead: reportedTokens(inputTokens.cacheRead),
    cacheWrite: reportedTokens(inputTokens.cacheWrite),
    reasoning: reportedTokens(outputTokens.reasoning),
  }
  return Object.fromEntries(Object.entries(counts).filter(([, tokens]) => tokens !== undefined))
}
