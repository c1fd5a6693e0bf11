import type { Block } from './block.ts'
import type { ConversationId, MessageId } from './ids.ts'
import type { JsonObject } from './json.ts'

export const roles = ['user', 'assistant', 'tool_result', 'system'] as const
export type Role = (typeof roles)[number]

/** Roles as other systems write them: `tool` is read as tool_result, `developer` as system. */
export type RoleInput = Role | 'tool' | 'developer'

export type NonEmpty<T> = readonly [T, ...T[]]

export function isNonEmpty<T>(list: readonly T[]): list is NonEmpty<T> {
  return list.length > 0
}

/** What a caller gives to be stored. A plain string is stored, and comes back, as a plain string. */
export interface NewMessage {
  readonly role: RoleInput
  readonly blocks: string | readonly Block[]
  readonly meta?: JsonObject
  /** When it was said, if not now. Imports bring their own times. */
  readonly at?: Date
  /** Tokens, if counted; otherwise characters / 4. Not part of the hash. */
  readonly tokens?: number
  readonly label?: string
}

/** A string or payload too large to stand in a message, kept apart and stored once. */
export interface BlobRef {
  readonly hash: string
  readonly bytes: number
  /** Where it belongs, as a JSON pointer into `{blocks, meta}`. */
  readonly pointer: string
  /** False if the message holds only the beginning; the rest is read with `readBlob`. */
  readonly whole: boolean
}

/** The words are gone on purpose; the place in the tree and the hash of what stood there remain. */
export interface Erasure {
  readonly at: Date
  readonly by: string
  readonly reason: string
}

/** A stored message: immutable, named by its hash. */
export interface Message {
  readonly id: MessageId
  readonly conversationId: ConversationId
  readonly parentId: MessageId | null
  /** Insertion order within the conversation, from 0, without gaps. */
  readonly seq: number
  /** Messages before this one on its path: 0 for a root. */
  readonly depth: number
  readonly role: Role
  readonly blocks: readonly Block[]
  /** True if it was given as a plain string: `contentOf` returns it so. */
  readonly plain: boolean
  readonly meta: JsonObject | null
  readonly createdAt: Date
  readonly tokens: number
  /** Tokens of the whole path from the root to here, this message included. */
  readonly pathTokens: number
  /** The turn it belongs to, named by the seq of the turn's first message. */
  readonly turn: number | null
  readonly step: number | null
  readonly label: string | null
  readonly erased: Erasure | null
  readonly blobs: readonly BlobRef[]
}

/** The content in the form it was given: a string if it was one. */
export function contentOf(message: Message): string | readonly Block[] {
  return message.plain ? textOf(message) : message.blocks
}

/** The text blocks joined by a blank line.
 *
 * @example
 * ```ts
 * import { textOf } from 'skein'
 *
 * const call = { type: 'tool_call', callId: 'c1', name: 'bash', input: { command: 'ls' } } as const
 * console.log(textOf({ blocks: [{ type: 'text', text: 'I look.' }, call] })) // I look.
 * ```
 */
export function textOf(message: { readonly blocks: string | readonly Block[] }): string {
  if (typeof message.blocks === 'string') return message.blocks
  const texts: string[] = []
  for (const block of message.blocks) {
    if (block.type === 'text' && typeof block.text === 'string') texts.push(block.text)
  }
  return texts.join('\n\n')
}
