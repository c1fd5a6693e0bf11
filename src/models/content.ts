import type { LanguageModelV4Content } from '@ai-sdk/provider'
import type { Block } from '../core/block.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fileBlock } from './file-block.ts'
import { keptMetadata, metadataOf } from './metadata.ts'
import { plainJson } from './plain-json.ts'

/** What a model of the AI SDK answers, in our words and in the order it came. Nothing is lost: what the provider wants
 *  back stands in `metadata.provider`, and who said it in `metadata.model`; what the provider did by itself, and what only
 *  it can read, has a type that begins with `provider_`, so that it is not taken for a call that somebody has to answer. */
export function blocksOf(content: readonly LanguageModelV4Content[], model?: string): readonly Block[] {
  return content.filter(saysSomething).map(part => blockOf(part, model))
}

/** False for what passes without saying anything: a mark in a stream, a first look at a result that is still coming, a
 *  text that began and never came. An empty text of which the provider said something is kept: Google signs such ones,
 *  and OpenAI names them; both may want them back. */
export function saysSomething(part: LanguageModelV4Content): boolean {
  if (part.type === 'text' || part.type === 'reasoning')
    return part.text !== '' || keptMetadata(part.providerMetadata) !== undefined
  return !(part.type === 'tool-result' && part.preliminary === true) && !isPassingMark(part)
}

/** A mark in a stream that says nothing of the answer. The SDK keeps it, and sends it back. */
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
      return { type: 'provider_result', callId, name, output: plainJson(part.result), ...failed, ...metadata }
    }
    case 'source':
    case 'custom':
    case 'tool-approval-request': {
      const { type, providerMetadata: _, ...facts } = part
      const own = type === 'source' ? type : `provider_${type}`
      return { ...(plainJson(facts) as JsonObject), type: own, ...metadata }
    }
    default:
      return otherBlock(part satisfies never)
  }
}

/** A call. One that the provider answers itself is no `tool_call`: nobody else has to. */
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
  return { type, callId: part.toolCallId, name: part.toolName, input, ...metadata }
}

/** Something of a later version of the SDK: kept as it came. */
export function otherBlock(part: { readonly type: string }): Block {
  return { ...(plainJson(part) as JsonObject), type: `provider_${part.type}` }
}

/** The input of a call comes as text. What is no JSON is kept as that text: whoever runs the tool says so to the model. */
function inputOf(input: string): Json {
  if (input.trim() === '') return {}
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}
