import type { LanguageModelV4Content } from '@ai-sdk/provider'
import { asBlock, type Block } from '../core/block.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fileBlock } from './file-block.ts'
import { keptMetadata, metadataOf } from './metadata.ts'
import { plainJson } from './plain-json.ts'

/** The answer of an AI SDK model as blocks, in its order. Nothing is lost: data that the provider wants back
 *  is in `metadata.provider`, and the model in `metadata.model`. Calls that the provider executes itself, and
 *  data that only it can read, have a type that begins with `provider_`, so that they are not taken for calls
 *  that need a result. */
export function blocksOf(content: readonly LanguageModelV4Content[], model?: string): readonly Block[] {
  return content.filter(saysSomething).map(part => blockOf(part, model))
}

/** False for parts without content: marks in a stream, previews of a result, texts that began and stayed
 *  empty. An empty text with provider metadata is kept: Google signs such texts, and OpenAI gives them ids;
 *  both may want them back. */
export function saysSomething(part: LanguageModelV4Content): boolean {
  if (part.type === 'text' || part.type === 'reasoning')
    return part.text !== '' || keptMetadata(part.providerMetadata) !== undefined
  return !(part.type === 'tool-result' && part.preliminary === true) && !isPassingMark(part)
}

/** A mark in a stream without content. The SDK keeps it, and sends it back. */
export function isPassingMark(part: { readonly type: string; readonly kind?: string }): boolean {
  return part.type === 'custom' && part.kind?.endsWith('.message_start') === true
}

function blockOf(part: LanguageModelV4Content, model: string | undefined): Block {
  const kept = keptMetadata(part.providerMetadata, model)
  const metadata = metadataOf({ ...kept })
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
      const output = plainJson(part.result)
      return asBlock({ type: 'provider_result', callId, name, output, ...failed, ...metadata })
    }
    case 'source':
    case 'custom':
    case 'tool-approval-request': {
      const { type, providerMetadata: _, ...facts } = part
      const own = type === 'source' ? type : `provider_${type}`
      return asBlock({ ...(plainJson(facts) as JsonObject), type: own, ...metadata })
    }
    default:
      return otherBlock(part satisfies never)
  }
}

/** A call. A provider-executed one is not a `tool_call`, because it needs no result from us. */
export function callBlock(
  part: {
    readonly toolCallId: string
    readonly toolName: string
    readonly providerExecuted?: boolean | undefined
  },
  input: Json,
  metadata: { readonly metadata?: JsonObject },
): Block {
  const type = part.providerExecuted === true ? 'provider_call' : 'tool_call'
  return asBlock({ type, callId: part.toolCallId, name: part.toolName, input, ...metadata })
}

/** A part that only a later version of the SDK knows, kept as it is. */
export function otherBlock(part: { readonly type: string }): Block {
  return asBlock({ ...(plainJson(part) as JsonObject), type: `provider_${part.type}` })
}

/** The input of a call, which arrives as text. Text that is not JSON is kept: the tool's check reports it to
 *  the model. */
function inputOf(input: string): Json {
  if (input.trim() === '') return {}
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}
