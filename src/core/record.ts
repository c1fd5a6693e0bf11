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

/** A conversation as it lies in a store, piece by piece. The native format writes each piece as one line, and a copy
 *  from store to store goes through them. Times are milliseconds since 1970, bodies the exact text that was hashed.
 *  Messages are named by their ids: seqs say in which order they were stored, and are given anew where a piece is
 *  written. */
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

/** A seq of a conversation and the id it was given to, whether the message is still there or only its tombstone. An id
 *  can stand at two seqs, if what was deleted was said again: then the seq decides. */
export interface MessagePosition {
  readonly seq: number
  readonly id: MessageId
}

/** The conversation itself: what is not its messages, and cannot be counted from them. */
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
  /** For how long an append renews it that comes after its expiry, where there is no time to live. */
  readonly renewMs: number | null
  readonly trashedAt: number | null
}

/** What was too large for a body. It goes with a message of the same call that refers to it. */
export interface BlobRecord {
  readonly kind: 'blob'
  readonly hash: string
  readonly data: Uint8Array
}

/** A message. `body` is null if it was erased; the hash of what stood there remains. */
export interface MessageRecord {
  readonly kind: 'message'
  readonly conversationId: ConversationId
  readonly seq: number
  readonly id: MessageId
  readonly parentId: MessageId | null
  readonly role: Role
  readonly at: number
  readonly tokens: number
  /** The first message of the turn it belongs to. */
  readonly turn: MessageId | null
  readonly step: number | null
  readonly label: string | null
  readonly bodyHash: string
  readonly body: string | null
  readonly erased: { readonly at: number; readonly by: string; readonly reason: string } | null
}

/** What a deleted message leaves: its place. */
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

/** A piece of an answer that had not arrived when it was read. */
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
  /** The key it had when its conversation went to the trash: restoring gives it back. */
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

/** Something that is there but could not be read, for example because the disk has lost it. */
export interface UnreadableRecord {
  readonly kind: 'unreadable'
  readonly conversationId: ConversationId
  /** For people: `message at seq 17`, `blob 39061532…`, `turns`. */
  readonly what: string
  readonly reason: string
}

/** What became of a record that was to be written. `present`: it was there already, and was left as it was. `advanced`: it
 *  was there in an earlier state and has been brought forward: a branch whose head lay above, a turn that was still open,
 *  totals that never go down. */
export type RecordOutcome =
  | {
      readonly outcome: 'added' | 'present' | 'advanced'
      /** What had to be done otherwise than the record says, for people; null if nothing. */
      readonly note: string | null
    }
  | { readonly outcome: 'refused'; readonly reason: string }

/** One for each record, in their order. */
export type RecordOutcomes = readonly RecordOutcome[]
