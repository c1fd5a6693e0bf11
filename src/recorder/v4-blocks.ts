import type {
  LanguageModelV4Content,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
  SharedV4FileData,
} from '@ai-sdk/provider'
import type { Block, MediaBlock, ToolResultBlock } from '../core/block.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { NewMessage, Role } from '../core/message.ts'

/** A prompt in our words: the system prompt that it begins with, and what was said. */
export interface PromptWords {
  /** The leading system messages, joined by a blank line; null if there is none. */
  readonly system: string | null
  readonly messages: readonly NewMessage[]
}

/** Reads what a model of the AI SDK is given. What a provider wants back stands in `metadata.provider` of a block. */
export function readPrompt(prompt: LanguageModelV4Prompt): PromptWords {
  const said = prompt.findIndex(({ role }) => role !== 'system')
  const leading = said === -1 ? prompt.length : said
  const system = prompt.slice(0, leading).map(message => message.content as string)
  return {
    system: system.length === 0 ? null : system.join('\n\n'),
    messages: prompt.slice(leading).map(readMessage),
  }
}

const roles: Record<LanguageModelV4Message['role'], Role> = {
  system: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool_result',
}

function readMessage(message: LanguageModelV4Message): NewMessage {
  const role = roles[message.role]
  if (message.role === 'system') return { role, blocks: message.content }
  const parts = message.content as readonly PromptPart[]
  const blocks = parts.filter(part => !isPassing(part)).map(readPart)
  const [only] = blocks
  // A person's words that are nothing but words stay the plain string that they most likely were.
  if (role === 'user' && blocks.length === 1 && only?.type === 'text' && only.metadata === undefined)
    return { role, blocks: only.text as string }
  return { role, blocks }
}

type PromptPart = Exclude<LanguageModelV4Message, { role: 'system' }>['content'][number]

function readPart(part: PromptPart): Block {
  const metadata = metadataOf({ provider: part.providerOptions })
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text, ...metadata }
    case 'reasoning':
      return { type: 'thinking', text: part.text, ...metadata }
    case 'file':
      return fileBlock(part, part.data, metadata)
    case 'reasoning-file':
      return { type: 'reasoning_file', ...fields(part.mediaType, part.data), ...metadata }
    case 'custom':
      return { type: 'custom', kind: part.kind, ...metadata }
    case 'tool-call':
      return callBlock(part, toJson(part.input), part.providerOptions)
    case 'tool-result':
      return resultBlock(part.toolCallId, part.toolName, part.output, part.providerOptions)
    case 'tool-approval-response': {
      const { approvalId, approved, reason } = part
      return {
        type: 'tool_approval_response',
        approvalId,
        approved,
        ...(reason !== undefined && { reason }),
        ...metadata,
      }
    }
    default:
      return otherBlock(part satisfies never)
  }
}

/** Reads what a model of the AI SDK answers, in the order it came. */
export function readAnswer(content: readonly LanguageModelV4Content[]): readonly Block[] {
  return content.filter(part => !isPassing(part)).map(readContent)
}

/** A first look at a result that is still coming, or a mark in the stream that says what the answer's own facts say. */
function isPassing(part: LanguageModelV4Content | PromptPart): boolean {
  if (part.type === 'tool-result') return 'preliminary' in part && part.preliminary === true
  return part.type === 'custom' && part.kind === 'anthropic.message_start'
}

function readContent(part: LanguageModelV4Content): Block {
  const metadata = metadataOf({ provider: part.providerMetadata })
  switch (part.type) {
    case 'text': {
      const { citations } = part
      return { type: 'text', text: part.text, ...metadataOf({ provider: part.providerMetadata, citations }) }
    }
    case 'reasoning':
      return { type: 'thinking', text: part.text, ...metadata }
    case 'file':
      return fileBlock(part, part.data, metadata)
    case 'reasoning-file':
      return { type: 'reasoning_file', ...fields(part.mediaType, part.data), ...metadata }
    case 'custom':
      return { type: 'custom', kind: part.kind, ...metadata }
    case 'source': {
      const { providerMetadata: _, ...facts } = part
      return { ...(toJson(facts) as JsonObject & { type: 'source' }), ...metadata }
    }
    case 'tool-call':
      return callBlock(part, parsed(part.input), part.providerMetadata)
    case 'tool-result': {
      const { toolCallId, toolName, result, isError, providerMetadata } = part
      const value = toJson(result)
      const output =
        typeof value === 'string'
          ? { type: isError ? ('error-text' as const) : ('text' as const), value }
          : { type: isError ? ('error-json' as const) : ('json' as const), value: value as never }
      return resultBlock(toolCallId, toolName, output, providerMetadata)
    }
    case 'tool-approval-request': {
      const { approvalId, toolCallId } = part
      return { type: 'tool_approval_request', approvalId, callId: toolCallId, ...metadata }
    }
    default:
      return otherBlock(part satisfies never)
  }
}

/** Something of a later version of the SDK: kept as it came. */
function otherBlock(part: { readonly type: string }): Block {
  return { ...(toJson(part) as JsonObject), type: part.type }
}

function callBlock(
  part: { toolCallId: string; toolName: string; providerExecuted?: boolean | undefined },
  input: Json,
  provider: unknown,
): Block {
  const providerExecuted = part.providerExecuted === true ? true : undefined
  const metadata = metadataOf({ provider, providerExecuted })
  return { type: 'tool_call', callId: part.toolCallId, name: part.toolName, input, ...metadata }
}

/** The input of a call comes as text. What is no JSON is kept as that text. */
function parsed(input: string): Json {
  if (input.trim() === '') return {}
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}

/** A result as a block. A form that `output` and `isError` do not tell stands in `metadata.output`. */
export function resultBlock(
  callId: string,
  name: string,
  output: LanguageModelV4ToolResultOutput,
  provider?: unknown,
): ToolResultBlock {
  const isError =
    output.type === 'error-text' || output.type === 'error-json' || output.type === 'execution-denied'
  const value = output.type === 'execution-denied' ? (output.reason ?? '') : toJson(output.value)
  const metadata = metadataOf({
    provider,
    output: output.type === formOf(value, isError) ? undefined : output.type,
    outputProvider: 'providerOptions' in output ? output.providerOptions : undefined,
  })
  return { type: 'tool_result', callId, name, output: value, ...(isError && { isError }), ...metadata }
}

/** The form that a result has if nothing else is said. */
export function formOf(value: Json, isError: boolean): LanguageModelV4ToolResultOutput['type'] {
  if (typeof value === 'string') return isError ? 'error-text' : 'text'
  return isError ? 'error-json' : 'json'
}

function fileBlock(
  { mediaType, ...part }: Pick<LanguageModelV4FilePart, 'mediaType'> & { filename?: string | undefined },
  data: SharedV4FileData,
  metadata: { readonly metadata?: JsonObject },
): Block {
  const name = part.filename === undefined ? {} : { name: part.filename }
  if (data.type === 'reference')
    return {
      type: 'file_reference',
      mime: mediaType,
      reference: toJson(data.reference),
      ...name,
      ...metadata,
    }
  const noted = data.type === 'text' ? { metadata: { ...metadata.metadata, inline: true } } : metadata
  return { type: mediaKind(mediaType), ...fields(mediaType, data), ...name, ...noted }
}

/** Where the bytes are, as our media blocks say it. */
function fields(
  mime: string,
  data: Exclude<SharedV4FileData, { type: 'reference' }>,
): { readonly mime: string } & ({ readonly data: string } | { readonly url: string }) {
  if (data.type === 'url') return { mime, url: data.originalUrl ?? data.url.href }
  if (data.type === 'text') return { mime, data: Buffer.from(data.text).toString('base64') }
  return { mime, data: typeof data.data === 'string' ? data.data : base64(data.data) }
}

function mediaKind(mime: string): MediaBlock['type'] {
  const top = mime.split('/')[0]
  return top === 'image' || top === 'audio' || top === 'video' ? top : 'file'
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

/** The metadata of a block, if there is any. */
function metadataOf(facts: Readonly<Record<string, unknown>>): { readonly metadata?: JsonObject } {
  const given = Object.entries(facts).filter(([, value]) => value !== undefined && value !== null)
  return given.length === 0 ? {} : { metadata: toJson(Object.fromEntries(given)) as JsonObject }
}

/** Plain JSON of whatever a caller or a tool gives: bytes as base64, dates and URLs as text, and null where JSON has
 *  nothing for it. */
export function toJson(value: unknown): Json {
  try {
    return JSON.parse(JSON.stringify(value, plain) ?? 'null')
  } catch {
    // A cycle, or a number that JSON does not have: its text is better than nothing.
    return String(value)
  }
}

function plain(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const given = this[key]
  return given instanceof Uint8Array ? base64(given) : value
}
