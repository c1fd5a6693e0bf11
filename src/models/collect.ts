import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import type { DraftPiece, Usage } from '../core/turn.ts'
import { saysSomething } from './content.ts'
import { usageOf } from './finish.ts'
import { merged } from './metadata.ts'

/** An arriving answer of the AI SDK, collected part by part. */
export interface CollectedAnswer {
  /** Adds the next part. Returns its text, if it has any. */
  take(part: LanguageModelV4StreamPart): Omit<DraftPiece, 'n'> | null
  /** The content so far, in the order of its beginnings, without empty parts. */
  readonly content: readonly LanguageModelV4Content[]
  /** The model that answers, if the provider has named it. */
  readonly model: string | null
  /** How the answer ended; null while it arrives. */
  readonly end: { readonly usage: Usage; readonly reason: LanguageModelV4FinishReason } | null
}

interface Growing {
  readonly type: 'text' | 'reasoning'
  readonly pieces: string[]
  metadata: SharedV4ProviderMetadata | undefined
  citations: Extract<LanguageModelV4Content, { type: 'text' }>['citations']
}

/** Creates an empty answer. */
export function collectAnswer(): CollectedAnswer {
  const parts: (Growing | LanguageModelV4Content)[] = []
  const growing = new Map<string, Growing>()
  let model: string | null = null
  let end: CollectedAnswer['end'] = null

  return {
    take,
    get content() {
      return parts.map(part => ('pieces' in part ? grown(part) : part)).filter(saysSomething)
    },
    get model() {
      return model
    },
    get end() {
      return end
    },
  }

  function take(part: LanguageModelV4StreamPart): Omit<DraftPiece, 'n'> | null {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        grow(part, kindOf(part.type))
        return null
      case 'text-delta':
      case 'reasoning-delta': {
        const type = kindOf(part.type)
        grow(part, type).pieces.push(part.delta)
        return part.delta === '' ? null : { type: type === 'text' ? 'text' : 'thinking', text: part.delta }
      }
      case 'text-end':
      case 'reasoning-end': {
        const one = grow(part, kindOf(part.type))
        if ('citations' in part && part.citations !== undefined) one.citations = part.citations
        growing.delete(`${one.type} ${part.id}`)
        return null
      }
      case 'tool-call':
      case 'tool-result':
      case 'tool-approval-request':
      case 'custom':
      case 'file':
      case 'reasoning-file':
      case 'source':
        parts.push(part)
        return null
      case 'response-metadata':
        model = part.modelId ?? model
        return null
      case 'finish':
        end = { usage: usageOf(part.usage), reason: part.finishReason }
        return null
      default:
        return null
    }
  }

  /** The text that a part belongs to. Provider metadata may come with any part, the first or the last: all of
   *  it is kept, and later values replace earlier ones. */
  function grow(
    part: { readonly id: string; readonly providerMetadata?: SharedV4ProviderMetadata },
    type: Growing['type'],
  ): Growing {
    const key = `${type} ${part.id}`
    let one = growing.get(key)
    if (one === undefined) {
      one = { type, pieces: [], metadata: undefined, citations: undefined }
      growing.set(key, one)
      parts.push(one)
    }
    one.metadata = merged(one.metadata, part.providerMetadata)
    return one
  }
}

function kindOf(type: `${'text' | 'reasoning'}-${string}`): Growing['type'] {
  return type.startsWith('text') ? 'text' : 'reasoning'
}

function grown({ type, pieces, metadata, citations }: Growing): LanguageModelV4Content {
  return {
    type,
    text: pieces.join(''),
    ...(metadata !== undefined && { providerMetadata: metadata }),
    ...(citations !== undefined && { citations }),
  }
}
