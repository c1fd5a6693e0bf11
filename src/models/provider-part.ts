import type { LanguageModelV4Message, LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'
import type { OtherBlock } from '../core/block.ts'
import type { Json } from '../core/json.ts'

/** A part of an answer, as a prompt has it. */
export type AnswerPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number]

/** What a provider's own tools did, as parts of the answer in which they did it; null for any other block. Whoever sends it
 *  says how the output of a result is written, and what goes with the part. */
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

/** What was no JSON when the model wrote it goes back as the SDK itself sends it: as an empty object. */
export function objectOf(input: Json | undefined): Json {
  return typeof input === 'object' && input !== null ? input : {}
}
