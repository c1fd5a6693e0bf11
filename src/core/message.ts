import type { Block, NewBlock } from './block.ts'
import { checkList } from './check.ts'
import type { ConversationId, MessageId } from './ids.ts'
import type { JsonObject } from './json.ts'

export const roles = ['user', 'assistant', 'tool_result', 'system'] as const
/** The author of a message. Results of tools have a role of their own. */
export type Role = (typeof roles)[number]

/** Roles as other systems write them: `tool` is stored as `tool_result`, `developer` as `system`. */
export type RoleInput = Role | 'tool' | 'developer'

/** A list with at least one item. */
export type NonEmpty<T> = readonly [T, ...T[]]

export function isNonEmpty<T>(list: readonly T[]): list is NonEmpty<T> {
  return list.length > 0
}

/** A message to store. A plain string is stored and returned as a plain string. */
export interface NewMessage {
  /** Other names for the same roles are accepted: see `RoleInput`. */
  readonly role: RoleInput
  /** A text, or blocks for anything else. Part of the hash. */
  readonly content: string | readonly NewBlock[]
  /** Any JSON object, such as a value of an interface of yours. Part of the hash, so it cannot be changed
   *  later. Default: none. */
  readonly metadata?: object
  /** The time of the message. Default: now. Imports pass their own times. */
  readonly createdAt?: Date
  /** Default: characters / 4. Not part of the hash. */
  readonly tokens?: number
  /** The caller's mark, which lists can filter by. Not part of the hash. Default: none. */
  readonly label?: string
}

/** A string or payload that is too large for a message body, stored once under its hash. */
export interface BlobRef {
  /** SHA-256 of its bytes in hexadecimal, for `readBlob`. */
  readonly hash: string
  /** The size of the whole blob. */
  readonly bytes: number
  /** Its position, as a JSON pointer into `{blocks, meta}`. */
  readonly pointer: string
  /** False if the message holds only its beginning. `readBlob` reads all of it. */
  readonly whole: boolean
}

/** The content was erased on purpose. The place in the tree and the hash of the content remain. */
export interface Erasure {
  /** When the content was removed. */
  readonly erasedAt: Date
  /** Who removed it, as given to `eraseMessages`. */
  readonly by: string
  /** Why, as given to `eraseMessages`. */
  readonly reason: string
}

/** A stored message. Immutable, named by its hash. */
export interface Message {
  /** The hash over parent, role, time and content. */
  readonly id: MessageId
  /** The conversation that it belongs to. */
  readonly conversationId: ConversationId
  /** The message before it on its path. Null for a root. */
  readonly parentId: MessageId | null
  /** Insertion order within the conversation, from 0, without gaps. */
  readonly seq: number
  /** Messages before this one on its path: 0 for a root. */
  readonly depth: number
  /** One of the four stored roles. */
  readonly role: Role
  /** Always blocks, also if a text was given. Empty if the message was erased. */
  readonly content: readonly Block[]
  /** True if the content was given as a plain string: `contentOf` returns a string then. */
  readonly plain: boolean
  /** The caller's own data. Null if none was given. */
  readonly metadata: JsonObject | null
  /** The time of the message. Part of the hash. */
  readonly createdAt: Date
  /** The size that contexts are budgeted with, as given or estimated when it was stored. */
  readonly tokens: number
  /** Tokens of the path from the root to this message, inclusive. */
  readonly pathTokens: number
  /** The turn of the message, named by the seq of the turn's first message. */
  readonly turn: number | null
  /** The number of the write within its turn. Null outside turns and for a message that was a draft. */
  readonly step: number | null
  /** The caller's mark, or null. `setLabel` changes it. */
  readonly label: string | null
  /** Not null if the content was erased on purpose. */
  readonly erased: Erasure | null
  /** The parts of the content that are stored as blobs. */
  readonly blobs: readonly BlobRef[]
}

/** The content in the form in which it was given: a string or blocks. */
export function contentOf(message: Message): string | readonly Block[] {
  return message.plain ? textOf(message) : message.content
}

/** The text blocks joined by a blank line.
 *
 * @example
 * ```ts
 * import { textOf } from 'skein'
 *
 * const call = { type: 'tool_call', callId: 'c1', name: 'bash', input: { command: 'ls' } } as const
 * console.log(textOf({ content: [{ type: 'text', text: 'I look.' }, call] })) // I look.
 * ```
 */
export function textOf(message: { readonly content: string | readonly NewBlock[] }): string {
  const content = message?.content
  if (typeof content === 'string') return content
  checkList(content, 'message', 'a message')
  const texts: string[] = []
  for (const block of content) {
    if (block.type === 'text' && typeof block.text === 'string') texts.push(block.text)
  }
  return texts.join('\n\n')
}
