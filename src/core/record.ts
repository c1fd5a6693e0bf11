import type {
  ConversationKind,
  ConversationLinks,
  ParentLink,
  PromptPolicy,
  ToolResultPolicy,
} from './conversation.ts'
import type { Holder } from './errors.ts'
import type { EventType } from './event.ts'
import type { ConversationId, MessageId } from './ids.ts'
import type { JsonObject } from './json.ts'
import type { Role } from './message.ts'
import type { TurnStatus, Usage } from './turn.ts'

/** A part of a conversation as it leaves one store and enters another. The native format writes each record
 *  as one line, and a copy between stores uses the same records. Times are milliseconds since 1970, bodies
 *  the exact text that was hashed. Records refer to messages by id. A seq gives the order of storage and is
 *  assigned again when the record is written. */
export type StoreRecord =
  | ConversationRecord
  | BlobRecord
  | MessageRecord
  | TombstoneRecord
  | TurnRecord
  | DraftRecord
  | SummaryRecord
  | EventRecord
  | BranchRecord
  | AgentLinkRecord

export type RecordKind = StoreRecord['kind']

/** A seq of a conversation and the id of its message or tombstone. An id can have two seqs if a deleted
 *  message was stored again. The seq decides then. */
export interface MessagePosition {
  readonly seq: number
  readonly id: MessageId
}

/** The conversation itself, without its messages and what can be counted from them. */
export interface ConversationRecord extends ConversationLinks {
  readonly kind: 'conversation'
  readonly id: ConversationId
  readonly conversationKind: ConversationKind
  readonly title: string | null
  readonly model: string | null
  readonly label: string | null
  readonly parent: ParentLink | null
  readonly promptPolicy: PromptPolicy
  readonly prompt: { readonly hash: string; readonly text: string } | null
  readonly toolResults: ToolResultPolicy
  readonly metadata: JsonObject
  readonly tags: readonly string[]
  readonly activeBranch: string
  readonly tokensUsed: number
  readonly cost: number
  readonly createdAt: number
  readonly updatedAt: number
  readonly expiresAt: number | null
  readonly ttlMs: number | null
  /** How long an append after the expiry renews it, if it has no `ttlMs`. */
  readonly renewMs: number | null
  readonly trashedAt: number | null
}

/** A string or payload that is too large for a body. A message of the same call must refer to it. */
export interface BlobRecord {
  readonly kind: 'blob'
  readonly hash: string
  readonly data: Uint8Array
}

/** A message. `body` is null if it was erased; the hash of the body remains. */
export interface MessageRecord {
  readonly kind: 'message'
  readonly conversationId: ConversationId
  readonly seq: number
  readonly id: MessageId
  readonly parentId: MessageId | null
  readonly role: Role
  readonly at: number
  readonly tokens: number
  /** The first message of its turn. */
  readonly turn: MessageId | null
  readonly step: number | null
  readonly label: string | null
  readonly bodyHash: string
  readonly body: string | null
  readonly erased: { readonly at: number; readonly by: string; readonly reason: string } | null
}

/** The place of a deleted message. */
export interface TombstoneRecord {
  readonly kind: 'tombstone'
  readonly conversationId: ConversationId
  readonly seq: number
  readonly id: MessageId
  readonly parent: MessagePosition | null
  readonly at: number
  readonly reason: string | null
}

export interface TurnRecord {
  readonly kind: 'turn'
  readonly conversationId: ConversationId
  readonly key: string
  readonly branch: string
  readonly status: TurnStatus
  readonly first: MessagePosition
  readonly last: MessagePosition
  readonly lastStep: number
  readonly model: string | null
  readonly promptHash: string | null
  readonly usage: Usage
  readonly holder: Holder | null
  readonly leaseUntil: number | null
  readonly startedAt: number
  readonly endedAt: number | null
}

/** A piece of an answer that was unfinished when the record was read. */
export interface DraftRecord {
  readonly kind: 'draft'
  readonly conversationId: ConversationId
  readonly turn: string
  readonly n: number
  readonly type: 'text' | 'thinking'
  readonly text: string
}

export interface SummaryRecord {
  readonly kind: 'summary'
  readonly conversationId: ConversationId
  readonly first: MessageId
  readonly last: MessageId
  readonly model: string | null
  readonly tokens: number
  readonly text: string
  readonly checksum: string
  readonly createdAt: number
}

export interface EventRecord {
  readonly kind: 'event'
  readonly conversationId: ConversationId
  readonly n: number
  readonly type: EventType
  readonly at: number
  readonly data: JsonObject
}

export interface BranchRecord {
  readonly kind: 'branch'
  readonly conversationId: ConversationId
  readonly name: string
  readonly head: MessageId | null
  readonly key: string | null
  readonly formerKey: string | null
  /** The key at the time when the conversation was trashed. Restoring sets it again. */
  readonly trashedKey: string | null
  readonly title: string | null
  readonly createdAt: number
  readonly updatedAt: number
}

export interface AgentLinkRecord {
  readonly kind: 'agent_link'
  readonly conversationId: ConversationId
  readonly branch: string
  readonly agent: string
  readonly directory: string
  readonly foreignId: string
  readonly seen: MessageId | null
  readonly updatedAt: number
}

/** Data that is stored but could not be read, for example because the disk is damaged. */
export interface UnreadableRecord {
  readonly kind: 'unreadable'
  readonly conversationId: ConversationId
  /** For people: `message at seq 17`, `blob 39061532…`, `turns`. */
  readonly what: string
  readonly reason: string
}

/** The outcome of writing a record. `present`: it was stored already and was left unchanged. `advanced`: an
 *  earlier state was stored and was brought forward, for example a branch whose head was an ancestor, an
 *  open turn, or a total that never decreases. */
export type RecordOutcome =
  | {
      readonly outcome: 'added' | 'present' | 'advanced'
      /** How the stored data differs from the record, for people. Null if it does not. */
      readonly note: string | null
    }
  | { readonly outcome: 'refused'; readonly reason: string }

/** One outcome for each record, in order. */
export type RecordOutcomes = readonly RecordOutcome[]
