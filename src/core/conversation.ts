import type { ConversationId, MessageId } from './ids.ts'
import type { JsonObject } from './json.ts'

/** What happens to the system prompt when a conversation is resumed; see `docs/data-model.md`. */
export type PromptPolicy = 'rebuild' | 'stored' | 'message'

export interface PromptRecord {
  /** SHA-256 of the text, in hex. */
  readonly hash: string
  readonly text: string
}

/** How tool results are kept: whole, cut to a number of characters, or only that they happened. */
export type ToolResultPolicy = 'full' | 'metadata' | { readonly truncate: number }

/** Where a conversation belongs. All of it can be filtered by. */
export interface ConversationLinks {
  readonly channel: string | null
  readonly directory: string | null
  readonly project: string | null
  readonly task: string | null
  /** Who owns it, if not we: listed and shown, never written by us (for example `claude-code`). */
  readonly owner: string | null
}

/** For a subagent's run: where it was started from. */
export interface ParentLink {
  readonly conversationId: ConversationId
  readonly messageId: MessageId | null
}

export type ConversationKind = 'main' | 'subagent'

export interface Conversation extends ConversationLinks {
  readonly id: ConversationId
  readonly kind: ConversationKind
  readonly title: string | null
  readonly model: string | null
  /** `subagent:<name>:<run_id>` for traces, or any topic marker. */
  readonly label: string | null
  readonly parent: ParentLink | null
  readonly promptPolicy: PromptPolicy
  readonly prompt: PromptRecord | null
  readonly toolResults: ToolResultPolicy
  readonly metadata: JsonObject
  readonly tags: readonly string[]
  /** The branch that callers get who name none. */
  readonly activeBranch: string
  /** Messages alive in the tree. */
  readonly messages: number
  /** Tokens of the messages alive in the tree. */
  readonly tokens: number
  /** Tokens that providers have charged over all turns; never goes down. */
  readonly tokensUsed: number
  readonly cost: number
  /** Raised by every change. */
  readonly version: number
  readonly createdAt: Date
  readonly updatedAt: Date
  /** Until when it is continued by itself. */
  readonly expiresAt: Date | null
  /** If set, activity moves `expiresAt` on by this much. */
  readonly ttlMs: number | null
  readonly trashedAt: Date | null
}

/** What a caller may say of a new conversation. */
export interface NewConversation extends Partial<ConversationLinks> {
  readonly id?: ConversationId
  readonly key?: string
  readonly kind?: ConversationKind
  readonly title?: string
  readonly model?: string
  readonly label?: string
  readonly parent?: ParentLink
  readonly promptPolicy?: PromptPolicy
  readonly prompt?: string
  readonly toolResults?: ToolResultPolicy
  readonly metadata?: JsonObject
  readonly tags?: readonly string[]
  readonly createdAt?: Date
  readonly expiresAt?: Date
  readonly ttlMs?: number
}

/** What can be changed afterwards; a field that is absent stays, null clears. */
export interface ConversationPatch extends Partial<ConversationLinks> {
  readonly title?: string | null
  readonly model?: string | null
  readonly label?: string | null
  readonly promptPolicy?: PromptPolicy
  readonly prompt?: string | null
  readonly toolResults?: ToolResultPolicy
  readonly metadata?: JsonObject
  readonly tags?: readonly string[]
  readonly expiresAt?: Date | null
  readonly ttlMs?: number | null
}

/** The shortest time for which a sweep leaves a conversation in the trash. */
export const trashGraceMs = 7 * 86_400_000
