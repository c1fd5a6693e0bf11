import type { LanguageModelV4Message, LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'
import type { OtherBlock } from '../core/block.ts'
import type { Json } from '../core/json.ts'

/** A part of an assistant message in a prompt. */
export type AnswerPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number]

/** A block of a provider's own tools as a part of the assistant message; null for any other block. The caller
 *  decides how the output of a result is written, and passes the provider's options. */
export function providerPart<O extends Pick<AnswerPart, 'providerOptions'>>(
  block: OtherBlock,
  options: O,
  outputOf: (block: OtherBlock) => LanguageModelV4ToolResultOutput,
): AnswerPart | null {
  const { type, callId: toolCallId, name: toolName, kind, input } = block
  if (type === 'provider_custom' && typeof kind === 'string')
    return { type: 'custom', kind: kind as `${string}.${string}`, ...options }
  if (typeof toolCallId !== 'string' || typeof toolName !== 'string') return null
  const call = { toolCallId, toolName }
  if (type === 'provider_call')
    return { type: 'tool-call', ...call, input: objectOf(input), providerExecuted: true, ...options }
  if (type === 'provider_result') return { type: 'tool-result', ...call, output: outputOf(block), ...options }
  return null
}

/** An input that is not JSON is sent back as an empty object, as the SDK does. */
export function objectOf(input: Json | undefined): Json {
  return typeof input === 'object' && input !== null ? input : {}
}
