import type { Json, JsonObject } from './json.ts'

/** The fields that every block may have besides its own. All of them are stored and returned. */
interface Common {
  readonly mime?: string
  readonly modality?: 'text' | 'image' | 'audio' | 'video'
  readonly metadata?: JsonObject
}

export interface TextBlock extends Common {
  readonly type: 'text'
  readonly text: string
}

/** Reasoning. `metadata` holds the provider's signature, which has to be sent back unchanged. */
export interface ThinkingBlock extends Common {
  readonly type: 'thinking'
  readonly text: string
}

export interface ToolCallBlock extends Common {
  readonly type: 'tool_call'
  readonly callId: string
  readonly name: string
  readonly input: Json
}

export interface ToolResultBlock extends Common {
  readonly type: 'tool_result'
  readonly callId: string
  readonly name?: string
  readonly output: Json
  readonly isError?: boolean
}

/** Media: base64 in `data`, or a `url`. */
export interface MediaBlock extends Common {
  readonly type: 'image' | 'audio' | 'video' | 'file'
  readonly mime: string
  readonly data?: string
  readonly url?: string
  readonly name?: string
}

export type KnownBlock = TextBlock | ThinkingBlock | ToolCallBlock | ToolResultBlock | MediaBlock

/** A block of a type that this version does not know. It is stored and returned unchanged. */
export interface OtherBlock {
  readonly type: string
  readonly [field: string]: Json
}

/** A typed part of a message. Narrow with `isKnown` first, then switch over `type`. */
export type Block = KnownBlock | OtherBlock

const known: Record<KnownBlock['type'], true> = {
  text: true,
  thinking: true,
  tool_call: true,
  tool_result: true,
  image: true,
  audio: true,
  video: true,
  file: true,
}

export function isKnown(block: Block): block is KnownBlock {
  return Object.hasOwn(known, block.type)
}

/** Whether the block's `data` is base64. */
export function isMedia(block: { readonly type: string }): block is MediaBlock {
  return block.type === 'image' || block.type === 'audio' || block.type === 'video' || block.type === 'file'
}
