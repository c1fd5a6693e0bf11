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
  /** Any string that is not the type of a known block, such as `citation`. */
  readonly type: string
  /** The other fields of the block, as they were given. */
  readonly [field: string]: Json
}

/** An `OtherBlock` within a `Block`. TypeScript cannot express "any string except these", so `type` is
 *  declared as a placeholder, which lets `block.type === 'text'` narrow. At run time, `type` is the stored
 *  one: `otherOf(block)?.type === 'citation'` compares it. */
export interface UnknownBlock extends OtherBlock {
  /** The stored type, declared as a placeholder. */
  readonly type: '(a type that this version does not know)'
}

/** A typed part of a message. Compare `type` to narrow it: `if (block.type === 'text') print(block.text)`.
 *  A switch over `type` needs a `default`: a newer version may have stored other types. */
export type Block = KnownBlock | UnknownBlock

/** A block to store: one of the known types, or an object with any other `type` and JSON fields. */
export type NewBlock = KnownBlock | { readonly type: string; readonly [field: string]: unknown }

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

/** Whether this version knows the type of a block. */
export function isKnown(block: NewBlock | Block): block is KnownBlock {
  return Object.hasOwn(known, block.type)
}

/** The block, if this version does not know its type; else null. */
export function otherOf(block: Block): OtherBlock | null {
  return isKnown(block) ? null : block
}

/** A block to store as it will be read. The caller knows that its fields are JSON. */
export function asBlock(block: NewBlock): Block {
  return block as Block
}

/** The content of a message as the list of blocks that it will be read as. */
export function asBlocks(content: string | readonly NewBlock[]): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content as readonly Block[])
}

/** Whether the block's `data` is base64. */
export function isMedia(block: { readonly type: string }): block is MediaBlock {
  return block.type === 'image' || block.type === 'audio' || block.type === 'video' || block.type === 'file'
}
