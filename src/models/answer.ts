import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider'
import type { Block } from '../core/block.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { Answer, Finish, ModelEvent } from '../core/model.ts'
import type { Usage } from '../core/turn.ts'
import { keptMetadata, merged, plainJson } from './metadata.ts'

type Metadata = Extract<LanguageModelV4StreamPart, { type: 'text-start' }>['providerMetadata']
type Open = { readonly type: 'text' | 'thinking'; text: string; said: Metadata; citations: Json | undefined }

/** The stream ended without an answer: with an error part, or too early. */
export class BrokenOff extends Error {
  /** What the provider said, if it said something. */
  readonly said: unknown

  constructor(said?: unknown) {
    super('the answer broke off')
    this.said = said
  }
}

/** Puts an answer together from the parts of a stream. */
export interface AnswerBuilder {
  /** The piece to hand on, if there is one. Throws BrokenOff where the provider says that it failed. */
  take(part: LanguageModelV4StreamPart): ModelEvent | null
  /** The whole answer. Throws BrokenOff if the stream ended before the provider said that it was whole. */
  whole(): Answer
}

export function answerBuilder(fromProvider: (name: string) => string, model: string): AnswerBuilder {
  const blocks: (Block | Open)[] = []
  const open = new Map<string, Open>()
  let finished:
    | { readonly usage: LanguageModelV4Usage; readonly finish: LanguageModelV4FinishReason }
    | undefined
  let answeredBy: string | null = null

  const opened = (type: Open['type'], id: string): Open => {
    const known = open.get(`${type}:${id}`)
    if (known !== undefined) return known
    const one: Open = { type, text: '', said: undefined, citations: undefined }
    open.set(`${type}:${id}`, one)
    blocks.push(one)
    return one
  }
  const grow = (type: Open['type'], id: string, said: Metadata, text = ''): ModelEvent | null => {
    const one = opened(type, id)
    one.text += text
    one.said = merged(one.said, said)
    return text === '' ? null : { type, text }
  }

  return {
    take(part) {
      switch (part.type) {
        case 'text-start':
        case 'text-end': {
          const events = grow('text', part.id, part.providerMetadata)
          if (part.type === 'text-end') {
            if (part.citations !== undefined) opened('text', part.id).citations = plainJson(part.citations)
            open.delete(`text:${part.id}`)
          }
          return events
        }
        case 'text-delta':
          return grow('text', part.id, part.providerMetadata, part.delta)
        case 'reasoning-start':
          return grow('thinking', part.id, part.providerMetadata)
        case 'reasoning-delta':
          return grow('thinking', part.id, part.providerMetadata, part.delta)
        case 'reasoning-end':
          grow('thinking', part.id, part.providerMetadata)
          open.delete(`thinking:${part.id}`)
          return null
        case 'response-metadata':
          answeredBy = part.modelId ?? answeredBy
          return null
        case 'finish':
          finished = { usage: part.usage, finish: part.finishReason }
          return null
        case 'error':
          throw new BrokenOff(part.error)
        default: {
          const block = blockOf(part, fromProvider, model)
          if (block !== null) blocks.push(block)
          return null
        }
      }
    },
    whole() {
      const reason = finished?.finish.unified
      if (finished === undefined || reason === 'interrupted' || reason === 'error') throw new BrokenOff()
      const kept = blocks.flatMap(block =>
        'said' in block ? closed(block as Open, model) : [block as Block],
      )
      const calls = kept.some(block => block.type === 'tool_call')
      return {
        blocks: kept,
        finish: finishOf(reason, calls),
        usage: usageOf(finished.usage),
        model: answeredBy,
      }
    },
  }
}

/** A text or a thought that is whole. An empty one is kept only if the provider wants it back. */
function closed(one: Open, model: string): readonly Block[] {
  const kept = keptMetadata(one.said, model)
  const isSigned = one.type === 'thinking' || JSON.stringify(one.said ?? {}).includes('thoughtSignature')
  if (one.text === '' && (kept === undefined || !isSigned)) return []
  const metadata = one.citations === undefined ? kept : { ...kept, citations: one.citations }
  return [{ type: one.type, text: one.text, ...(metadata !== undefined && { metadata }) }]
}

/** Parts that come whole. What the provider did by itself, and what it refers to, is kept under types of its own, so
 *  that it is neither lost nor taken for a call that somebody has to answer. */
function blockOf(
  part: LanguageModelV4StreamPart,
  fromProvider: (name: string) => string,
  model: string,
): Block | null {
  switch (part.type) {
    case 'tool-call': {
      const call = { callId: part.toolCallId, name: fromProvider(part.toolName), input: inputOf(part.input) }
      return {
        type: part.providerExecuted ? 'provider_call' : 'tool_call',
        ...call,
        ...kept(part.providerMetadata, model),
      }
    }
    case 'tool-result': {
      if (part.preliminary) return null
      const result = {
        callId: part.toolCallId,
        name: fromProvider(part.toolName),
        output: plainJson(part.result),
      }
      const failed = part.isError ? { isError: true } : {}
      return { type: 'provider_result', ...result, ...failed, ...kept(part.providerMetadata, model) }
    }
    case 'file':
    case 'reasoning-file': {
      const place =
        part.data.type === 'url' ? { url: part.data.url.toString() } : { data: base64Of(part.data.data) }
      const type = /^(image|audio|video)\//.exec(part.mediaType)?.[1] ?? 'file'
      return { type, mime: part.mediaType, ...place, ...kept(part.providerMetadata, model) } as Block
    }
    case 'source': {
      const { type, providerMetadata, ...facts } = part
      return { ...(plainJson(facts) as JsonObject), type, ...kept(providerMetadata, model) }
    }
    case 'custom':
    case 'tool-approval-request': {
      if (part.type === 'custom' && part.kind.endsWith('.message_start')) return null // says nothing of the answer
      const { type, providerMetadata, ...facts } = part
      return {
        ...(plainJson(facts) as JsonObject),
        type: `provider_${type}`,
        ...kept(providerMetadata, model),
      }
    }
    default:
      return null
  }
}

function kept(said: Metadata, model: string): { readonly metadata?: JsonObject } {
  const metadata = keptMetadata(said, model)
  return metadata === undefined ? {} : { metadata }
}

/** What is no JSON is handed on as it came: whoever runs the tool says so to the model. */
function inputOf(input: string): Json {
  if (input.trim() === '') return {}
  try {
    return JSON.parse(input) as Json
  } catch {
    return input
  }
}

function base64Of(data: Uint8Array | string): string {
  return typeof data === 'string' ? data : Buffer.from(data).toString('base64')
}

function finishOf(reason: LanguageModelV4FinishReason['unified'] | undefined, calls: boolean): Finish {
  if (reason === 'length') return 'length'
  if (reason === 'content-filter') return 'filtered'
  if (calls) return 'tool_calls' // some providers say "stop"
  return reason === 'stop' ? 'stop' : 'other'
}

function usageOf({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage {
  const all = {
    input: inputTokens.total,
    output: outputTokens.total,
    cacheRead: inputTokens.cacheRead,
    cacheWrite: inputTokens.cacheWrite,
    reasoning: outputTokens.reasoning,
  }
  return Object.fromEntries(Object.entries(all).filter(([, tokens]) => tokens !== undefined))
}
