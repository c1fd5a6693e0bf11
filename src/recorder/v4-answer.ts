import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4Usage,
} from '@ai-sdk/provider'
import type { Block } from '../core/block.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { Finish } from '../core/model.ts'
import type { Usage } from '../core/turn.ts'
import { callBlock, fileBlock, metadataOf, otherBlock, toJson } from './v4-pieces.ts'

/** Reads what a model of the AI SDK answers, in the order it came, as `skein/models` does: what the provider wants back
 *  in `metadata.provider`, and who said it in `metadata.model`. Nothing is lost; what only the provider can read has a
 *  type that begins with `provider_`. */
export function readAnswer(content: readonly LanguageModelV4Content[], model?: string): readonly Block[] {
  return content.filter(part => !isPassing(part)).map(part => readContent(part, model))
}

/** A mark in a stream that says nothing of the answer. */
export function isPassingMark(part: { readonly type: string; readonly kind?: string }): boolean {
  return part.type === 'custom' && part.kind?.endsWith('.message_start') === true
}

/** That, or a first look at a result that is still coming. */
function isPassing(part: LanguageModelV4Content): boolean {
  return (part.type === 'tool-result' && part.preliminary === true) || isPassingMark(part)
}

function readContent(part: LanguageModelV4Content, model: string | undefined): Block {
  const said = part.providerMetadata
  const kept = said === undefined ? {} : { provider: said, model }
  const metadata = metadataOf(kept)
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text, ...metadataOf({ ...kept, citations: part.citations }) }
    case 'reasoning':
      return { type: 'thinking', text: part.text, ...metadata }
    case 'file':
      return fileBlock(part, metadata)
    case 'reasoning-file':
      return fileBlock(part, metadataOf({ ...kept, reasoning: true }))
    case 'tool-call':
      return callBlock(part, inputOf(part.input), metadata)
    case 'tool-result': {
      const { toolCallId: callId, toolName: name, isError } = part
      const failed = isError ? { isError } : {}
      return { type: 'provider_result', callId, name, output: toJson(part.result), ...failed, ...metadata }
    }
    case 'source':
    case 'custom':
    case 'tool-approval-request': {
      const { type, providerMetadata: _, ...facts } = part
      const own = type === 'source' ? type : `provider_${type}`
      return { ...(toJson(facts) as JsonObject), type: own, ...metadata }
    }
    default:
      return otherBlock(part satisfies never)
  }
}

/** The input of a call comes as text. What is no JSON is kept as that text. */
function inputOf(input: string): Json {
  if (input.trim() === '') return {}
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}

/** What a provider charged, in our words. */
export function readUsage({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage {
  const counts = {
    input: inputTokens.total,
    output: outputTokens.total,
    cacheRead: inputTokens.cacheRead,
    cacheWrite: inputTokens.cacheWrite,
    reasoning: outputTokens.reasoning,
  }
  return Object.fromEntries(Object.entries(counts).filter(([, tokens]) => tokens !== undefined))
}

const finishes: Partial<Record<LanguageModelV4FinishReason['unified'], Finish>> = {
  stop: 'stop',
  'tool-calls': 'tool_calls',
  length: 'length',
  'content-filter': 'filtered',
}

/** Why an answer ended, in our words. */
export function readFinish(reason: LanguageModelV4FinishReason['unified']): Finish {
  return finishes[reason] ?? 'other'
}
