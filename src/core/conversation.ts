import type { ConversationId, MessageId } from './ids.ts'
import type { JsonObject } from './json.ts'

/** Which system prompt a resumed conversation uses: `rebuild` the one that the caller supplies again (the
 *  default), `stored` the one of the prompt record. */
export type PromptPolicy = 'rebuild' | 'stored'

/** The system prompt of a conversation. It is not a message. */
export interface PromptRecord {
  /** SHA-256 of the text, in hex. */
  readonly hash: string
  /** The whole prompt. */
  readonly text: string
}

/** How tool results are stored: whole, cut to a number of characters, or only their metadata. */
export type ToolResultPolicy =
  | 'full'
  | 'metadata'
  | {
      /** The number of characters to keep. */
      readonly truncate: number
    }

/** What a conversation belongs to. Lists can be filtered by each field. */
export interface ConversationLinks {
  /** Where people talk to the agent, such as `discord`. Null if unknown. */
  readonly channel: string | null
  /** The working directory. The command lists the conversations of the current one. Null if unknown. */
  readonly directory: string | null
  /** A project, as the caller names it, or null. */
  readonly project: string | null
  /** The work item that the conversation belongs to, or null. `findByTask` finds it; expired ones are
   *  swept. */
  readonly task: string | null
  /** The foreign owner of the conversation, for example `claude-code`. Such a conversation is listed and
   *  shown, but never written. */
  readonly owner: string | null
}

/** The place from which a subagent was started. */
export interface ParentLink {
  /** The conversation that started the subagent. */
  readonly conversationId: ConversationId
  /** The message with the call that started it, or null. */
  readonly messageId: MessageId | null
}

/** Whether a person or another agent leads the conversation. Lists and searches can be limited to one
 *  kind. */
export type ConversationKind = 'main' | 'subagent'

/** A conversation without its messages: identity, settings, and totals that the store keeps up to date. */
export interface Conversation extends ConversationLinks {
  /** A UUID, random unless its creator supplied one. */
  readonly id: ConversationId
  /** `subagent` if another agent started it. */
  readonly kind: ConversationKind
  /** Set by a caller or from the first message of a user. Null until then. */
  readonly title: string | null
  /** The model that it was created with or set to, or null. Each turn names the one that answered. */
  readonly model: string | null
  /** `subagent:<name>:<run_id>` for traces, or any topic marker. */
  readonly label: string | null
  /** Where it was started, for a subagent. Null otherwise. */
  readonly parent: ParentLink | null
  /** Which system prompt is used when the conversation is resumed. */
  readonly promptPolicy: PromptPolicy
  /** The stored system prompt, or null. */
  readonly prompt: PromptRecord | null
  /** How much of each tool result a recorder stores. */
  readonly toolResults: ToolResultPolicy
  /** The caller's own data, up to 64 KiB of JSON. `{}` if there is none. */
  readonly metadata: JsonObject
  /** Each tag once, in byte order. */
  readonly tags: readonly string[]
  /** The branch for callers that name none. */
  readonly activeBranch: string
  /** Messages in the tree, without deleted ones. */
  readonly messages: number
  /** Tokens of the messages in the tree. */
  readonly tokens: number
  /** Tokens that providers have charged over all turns. Never decreases. */
  readonly tokensUsed: number
  /** The cost that all turns have reported, in US dollars. Never decreases. */
  readonly cost: number
  /** Incremented by every change. */
  readonly version: number
  /** When it was created. */
  readonly createdAt: Date
  /** The time of its last activity. Lists are ordered by it. */
  readonly updatedAt: Date
  /** After this time, its keys no longer find the conversation. */
  readonly expiresAt: Date | null
  /** If set, activity sets `expiresAt` to this long after it. */
  readonly ttlMs: number | null
  /** When it was moved to the trash. Null if it is not there. */
  readonly trashedAt: Date | null
}

/** The fields of a new conversation that a caller may set. */
export interface NewConversation extends Partial<ConversationLinks> {
  /** Default: a random UUID. */
  readonly id?: ConversationId
  /** The key of its branch `main`. Throws KeyReusedError if another branch has it. Default: none. */
  readonly key?: string
  /** Default: `main`. */
  readonly kind?: ConversationKind
  /** Default: from the first message of a user. */
  readonly title?: string
  /** Default: none. */
  readonly model?: string
  /** Default: none. */
  readonly label?: string
  /** Where a subagent was started. Default: none. */
  readonly parent?: ParentLink
  /** Default: `rebuild`. */
  readonly promptPolicy?: PromptPolicy
  /** The text of the system prompt. Default: none. */
  readonly prompt?: string
  /** Default: `full`. */
  readonly toolResults?: ToolResultPolicy
  /** The caller's own data, up to 64 KiB of JSON. Default: `{}`. */
  readonly metadata?: object
  /** Default: none. */
  readonly tags?: readonly string[]
  /** Default: now. Imports pass their own time. */
  readonly createdAt?: Date
  /** Default: never, or `ttlMs` from now. */
  readonly expiresAt?: Date
  /** How long after each activity it expires, in milliseconds. Default: activity does not move the expiry. */
  readonly ttlMs?: number
}

/** The fields that can be changed later. An absent field keeps its value, null clears it. */
export interface ConversationPatch extends Partial<ConversationLinks> {
  /** Null removes the title. */
  readonly title?: string | null
  /** Null removes the model. */
  readonly model?: string | null
  /** Null removes the label. */
  readonly label?: string | null
  /** Which system prompt is used when the conversation is resumed. */
  readonly promptPolicy?: PromptPolicy
  /** The text of a new system prompt. Null removes the prompt. */
  readonly prompt?: string | null
  /** Applies to results that are stored from now on. */
  readonly toolResults?: ToolResultPolicy
  /** Replaces the whole object, not single fields. */
  readonly metadata?: object
  /** Replaces the whole list. */
  readonly tags?: readonly string[]
  /** Null: it does not expire. */
  readonly expiresAt?: Date | null
  /** Null: activity no longer moves the expiry. */
  readonly ttlMs?: number | null
}

/** The shortest time between moving a conversation to the trash and purging it. */
export const trashGraceMs = 7 * 86_400_000
