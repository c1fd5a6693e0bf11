import type { Json, JsonObject } from './json.ts'

/** The fields that every block may have besides its own. All of them are stored and returned. */
export interface BlockFields {
  /** The media type of the content, such as `text/plain`. */
  readonly mime?: string
  /** The kind of content, where it does not follow from the type of the block. */
  readonly modality?: 'text' | 'image' | 'audio' | 'video'
  /** Data of the provider or the caller, such as a signature that the provider needs back. */
  readonly metadata?: JsonObject
}

/** A part of the answer or of the question. */
export interface TextBlock extends BlockFields {
  readonly type: 'text'
  /** May be empty. Markdown is not interpreted. */
  readonly text: string
}

/** Reasoning. `metadata` holds the provider's signature, which has to be sent back unchanged. */
export interface ThinkingBlock extends BlockFields {
  readonly type: 'thinking'
  /** Empty if the provider returned the reasoning only in encrypted form. */
  readonly text: string
}

/** A call of a tool, in a message of the assistant. */
export interface ToolCallBlock extends BlockFields {
  readonly type: 'tool_call'
  /** Connects the call with its result. Unique in its conversation. */
  readonly callId: string
  /** The name of the tool. */
  readonly name: string
  /** The arguments, usually an object. */
  readonly input: Json
}

/** The result of a call, in a message with the role `tool_result`. */
export interface ToolResultBlock extends BlockFields {
  readonly type: 'tool_result'
  /** The id of the call. */
  readonly callId: string
  /** The name of the tool. Absent if the provider did not repeat it. */
  readonly name?: string
  /** A text, or any JSON that the tool returned. */
  readonly output: Json
  /** True if the call failed. Default: false. */
  readonly isError?: boolean
}

/** Media: base64 in `data`, or a `url`. */
export interface MediaBlock extends BlockFields {
  /** `file` for everything that is neither image, audio nor video. */
  readonly type: 'image' | 'audio' | 'video' | 'file'
  /** The media type, such as `image/png`. */
  readonly mime: string
  /** The content in base64. More than 16,384 bytes are stored as a blob. */
  readonly data?: string
  /** Where the content is, if it is not stored here. */
  readonly url?: string
  /** The name of the file. */
  readonly name?: string
}

/** The blocks whose types this version knows. */
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
export type NewBlock =
  | KnownBlock
  | {
      /** Any string that is not the type of a known block. */
      readonly type: string
      /** The other fields, which must be JSON. An interface of yours is accepted. */
      readonly [field: string]: unknown
    }

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

/** Whether this version knows the type of a block.
 *
 * @example
 * ```ts
 * import { type Block, isKnown, otherOf } from 'skein'
 *
 * function caption(block: Block): string {
 *   if (!isKnown(block)) return `(${otherOf(block)?.type})`
 *   if (block.type === 'text') return block.text
 *   return block.type === 'tool_call' ? `${block.name} ${JSON.stringify(block.input)}` : block.type
 * }
 * console.log(caption({ type: 'tool_call', callId: 'c1', name: 'read', input: { path: 'a.ts' } }))
 * // read {"path":"a.ts"}
 * ```
 */
export function isKnown(block: NewBlock | Block): block is KnownBlock {
  return Object.hasOwn(known, block?.type)
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
