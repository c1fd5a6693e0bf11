import type {
  LanguageModelV4FilePart,
  LanguageModelV4ToolResultOutput,
  SharedV4FileData,
} from '@ai-sdk/provider'
import { type Block, isKnown, isMedia, type MediaBlock, type ToolResultBlock } from '../core/block.ts'
import type { Json, JsonObject } from '../core/json.ts'

/** The metadata of a block, if there is any: what is undefined or null is left out. */
export function metadataOf(facts: Readonly<Record<string, unknown>>): { readonly metadata?: JsonObject } {
  const given = Object.entries(facts).filter(([, value]) => value !== undefined && value !== null)
  return given.length === 0 ? {} : { metadata: toJson(Object.fromEntries(given)) as JsonObject }
}

/** A call. One that the provider answers itself is no `tool_call`: nobody else has to. */
export function callBlock(
  part: { toolCallId: string; toolName: string; providerExecuted?: boolean | undefined },
  input: Json,
  metadata: { readonly metadata?: JsonObject },
): Block {
  const type = part.providerExecuted === true ? 'provider_call' : 'tool_call'
  return { type, callId: part.toolCallId, name: part.toolName, input, ...metadata }
}

/** A result. A form that `output` and `isError` do not tell stands in `metadata.output`. */
export function resultBlock(
  callId: string,
  name: string,
  output: LanguageModelV4ToolResultOutput,
  facts: Readonly<Record<string, unknown>> = {},
): ToolResultBlock {
  const isError =
    output.type === 'error-text' || output.type === 'error-json' || output.type === 'execution-denied'
  const value = saidIn(output)
  const metadata = metadataOf({
    ...facts,
    output: output.type === formOf(value, isError) ? undefined : output.type,
    outputProvider: 'providerOptions' in output ? output.providerOptions : undefined,
  })
  return { type: 'tool_result', callId, name, output: value, ...(isError && { isError }), ...metadata }
}

/** What stands for a refusal for which no reason was given. */
export const denied = 'The tool was not allowed to run.'

function saidIn(output: LanguageModelV4ToolResultOutput): Json {
  if (output.type === 'execution-denied') return output.reason ?? denied
  return output.type === 'content' ? output.value.map(pieceOf) : toJson(output.value)
}

type Piece = Extract<LanguageModelV4ToolResultOutput, { type: 'content' }>['value'][number]

/** A piece of a result in several, as a block, so that whoever reads the result knows it. */
function pieceOf(piece: Piece): Json {
  const metadata = metadataOf({ provider: piece.providerOptions })
  if (piece.type === 'text') return { type: 'text', text: piece.text, ...metadata }
  if (piece.type === 'file') return toJson(fileBlock(piece, metadata))
  return toJson(piece)
}

/** The form that a result has if nothing else is said. */
export function formOf(value: Json, isError: boolean): LanguageModelV4ToolResultOutput['type'] {
  if (typeof value === 'string') return isError ? 'error-text' : 'text'
  return isError ? 'error-json' : 'json'
}

/** A file: media of ours, or a mere reference to what the provider keeps. A text that stands in the prompt itself says so
 *  in `metadata.inline`. */
export function fileBlock(
  {
    mediaType: mime,
    data,
    filename,
  }: Pick<LanguageModelV4FilePart, 'mediaType' | 'data'> & { filename?: string },
  metadata: { readonly metadata?: JsonObject },
): Block {
  const name = filename === undefined ? {} : { name: filename }
  const type = mediaKind(mime)
  switch (data.type) {
    case 'reference':
      return { type: 'provider_file', mime, reference: toJson(data.reference), ...name, ...metadata }
    case 'text': {
      const noted = { ...metadata.metadata, inline: true }
      return { type, mime, data: Buffer.from(data.text).toString('base64'), ...name, metadata: noted }
    }
    case 'url':
      return { type, mime, url: data.originalUrl ?? data.url.href, ...name, ...metadata }
    case 'data': {
      const base64 = typeof data.data === 'string' ? data.data : base64Of(data.data)
      return { type, mime, data: base64, ...name, ...metadata }
    }
    default:
      return { type: 'provider_file', mime, data: toJson(data satisfies never), ...name, ...metadata }
  }
}

/** Where the bytes of a media block are, as the SDK says it. */
export function fileData(block: MediaBlock): Exclude<SharedV4FileData, { type: 'reference' }> {
  if (block.data === undefined) return { type: 'url', url: new URL(block.url ?? 'about:blank') }
  if (block.metadata?.inline !== true) return { type: 'data', data: block.data }
  return { type: 'text', text: Buffer.from(block.data, 'base64').toString() }
}

/** Media that came as a part of reasoning. */
export function isReasoningFile(block: Block): boolean {
  return isKnown(block) && isMedia(block) && block.metadata?.reasoning === true
}

function mediaKind(mime: string): MediaBlock['type'] {
  const top = mime.split('/')[0]
  return top === 'image' || top === 'audio' || top === 'video' ? top : 'file'
}

function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

/** Something of a later version of the SDK: kept as it came. */
export function otherBlock(part: { readonly type: string }): Block {
  return { ...(toJson(part) as JsonObject), type: `provider_${part.type}` }
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
  return given instanceof Uint8Array ? base64Of(given) : value
}
