import type { ConversationId, MessageId } from './ids.ts'
import type { JsonObject } from './json.ts'

/** Decides about the system prompt when a conversation is resumed. See `docs/data-model.md`. */
export type PromptPolicy = 'rebuild' | 'stored' | 'message'

export interface PromptRecord {
  /** SHA-256 of the text, in hex. */
  readonly hash: string
  readonly text: string
}

/** How tool results are stored: whole, cut to a number of characters, or only their metadata. */
export type ToolResultPolicy = 'full' | 'metadata' | { readonly truncate: number }

/** What a conversation belongs to. Lists can be filtered by each field. */
export interface ConversationLinks {
  readonly channel: string | null
  readonly directory: string | null
  readonly project: string | null
  readonly task: string | null
  /** The foreign owner of the conversation, for example `claude-code`. Such a conversation is listed and
   *  shown, but never written. */
  readonly owner: string | null
}

/** The place from which a subagent was started. */
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
  /** The branch for callers that name none. */
  readonly activeBranch: string
  /** Messages in the tree, without deleted ones. */
  readonly messages: number
  /** Tokens of the messages in the tree. */
  readonly tokens: number
  /** Tokens that providers have charged over all turns. Never decreases. */
  readonly tokensUsed: number
  readonly cost: number
  /** Incremented by every change. */
  readonly version: number
  readonly createdAt: Date
  readonly updatedAt: Date
  /** After this time, its keys no longer find the conversation. */
  readonly expiresAt: Date | null
  /** If set, activity sets `expiresAt` to this long after it. */
  readonly ttlMs: number | null
  readonly trashedAt: Date | null
}

/** The fields of a new conversation that a caller may set. */
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
  readonly metadata?: object
  readonly tags?: readonly string[]
  readonly createdAt?: Date
  readonly expiresAt?: Date
  readonly ttlMs?: number
}

/** The fields that can be changed later. An absent field keeps its value, null clears it. */
export interface ConversationPatch extends Partial<ConversationLinks> {
  readonly title?: string | null
  readonly model?: string | null
  readonly label?: string | null
  readonly promptPolicy?: PromptPolicy
  readonly prompt?: string | null
  readonly toolResults?: ToolResultPolicy
  readonly metadata?: object
  readonly tags?: readonly string[]
  readonly expiresAt?: Date | null
  readonly ttlMs?: number | null
}

/** The shortest time between moving a conversation to the trash and purging it. */
export const trashGraceMs = 7 * 86_400_000
