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
import type { TaskRecord } from './task-record.ts'
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
  | TaskRecord

/** The `kind` of a record: the type of data that it holds. */
export type RecordKind = StoreRecord['kind']

/** A seq of a conversation and the id of its message or tombstone. An id can have two seqs if a deleted
 *  message was stored again. The seq decides then. */
export interface MessagePosition {
  /** The place in the order of storage, from 0. It is local to a store: writing assigns a new one. */
  readonly seq: number
  /** The id of the message. It decides which message is meant. */
  readonly id: MessageId
}

/** The conversation itself, without its messages and what can be counted from them. */
export interface ConversationRecord extends ConversationLinks {
  readonly kind: 'conversation'
  /** The same UUID in every store, so that a second transfer finds the conversation again. */
  readonly id: ConversationId
  /** `Conversation.kind`. The field `kind` names the type of the record here. */
  readonly conversationKind: ConversationKind
  /** Null if the conversation has no title. */
  readonly title: string | null
  /** The model that the conversation was created with or set to, or null. Turns name the one that
   *  answered. */
  readonly model: string | null
  /** A caller's own mark, such as `subagent:<name>:<run_id>`, or null. */
  readonly label: string | null
  /** Where a subagent was started, or null. The parent conversation need not be in the same store. */
  readonly parent: ParentLink | null
  /** Which system prompt a resumed conversation uses. */
  readonly promptPolicy: PromptPolicy
  /** The system prompt and its SHA-256 in hexadecimal, which is checked when the record is written. Null if
   *  none is stored. */
  readonly prompt: { readonly hash: string; readonly text: string } | null
  /** How much of each tool result a recorder stores. */
  readonly toolResults: ToolResultPolicy
  /** The caller's own data. `{}` if there is none. */
  readonly metadata: JsonObject
  /** Each tag once, in byte order. */
  readonly tags: readonly string[]
  /** The name of the branch for callers that name none. Writing the record creates this branch. */
  readonly activeBranch: string
  /** Tokens that providers have charged over all turns. An existing conversation keeps the larger total. */
  readonly tokensUsed: number
  /** The cost of all turns, in US dollars. An existing conversation keeps the larger total. */
  readonly cost: number
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** The time of the last change, in milliseconds since 1970. */
  readonly updatedAt: number
  /** When its keys stop finding the conversation, in milliseconds since 1970. Null if it does not expire. */
  readonly expiresAt: number | null
  /** How long after each activity it expires, in milliseconds. Null if activity does not move the expiry. */
  readonly ttlMs: number | null
  /** How long an append after the expiry renews it, if it has no `ttlMs`. */
  readonly renewMs: number | null
  /** When it was moved to the trash, in milliseconds since 1970. Null if it is not in the trash. */
  readonly trashedAt: number | null
}

/** A string or payload that is too large for a body. A message of the same call must refer to it. */
export interface BlobRecord {
  readonly kind: 'blob'
  /** SHA-256 of `data` in hexadecimal. Messages refer to the blob by it. */
  readonly hash: string
  /** The bytes: UTF-8 of a long string, or the decoded payload of a media block. */
  readonly data: Uint8Array
}

/** A message. `body` is null if it was erased; the hash of the body remains. */
export interface MessageRecord {
  readonly kind: 'message'
  /** The conversation of the message. Its record has to be stored already, or to come earlier. */
  readonly conversationId: ConversationId
  /** The place in the order of storage in the source. A new conversation keeps it. */
  readonly seq: number
  /** The hash over parent, role, time and body hash. It is computed again when the record is written. */
  readonly id: MessageId
  /** The message before it on its path, which has to be stored already. Null for a root. */
  readonly parentId: MessageId | null
  /** Part of the hash, as are the time and the parent. */
  readonly role: Role
  /** The time of the message, in milliseconds since 1970. */
  readonly at: number
  /** The size that contexts are budgeted with. Not part of the hash. */
  readonly tokens: number
  /** The first message of its turn. */
  readonly turn: MessageId | null
  /** The number of the write within its turn. Null outside turns and for a message that was a draft. */
  readonly step: number | null
  /** A caller's own mark, or null. */
  readonly label: string | null
  /** SHA-256 of the body in hexadecimal. An erased message keeps it, so that its id still verifies. */
  readonly bodyHash: string
  /** The JSON text of `{blocks, meta}` that was hashed, byte for byte. Null if the message was erased. */
  readonly body: string | null
  /** When, by whom and why the content was removed, or null. The time is in milliseconds since 1970. */
  readonly erased: { readonly at: number; readonly by: string; readonly reason: string } | null
}

/** The place of a deleted message. */
export interface TombstoneRecord {
  readonly kind: 'tombstone'
  /** The conversation that the message was deleted from. */
  readonly conversationId: ConversationId
  /** The place that the message had in the order of storage. */
  readonly seq: number
  /** The id of the deleted message. */
  readonly id: MessageId
  /** The parent, which may be deleted too. Null for a root. */
  readonly parent: MessagePosition | null
  /** When the message was deleted, in milliseconds since 1970. */
  readonly at: number
  /** The reason given to `deleteMessages`, or null. */
  readonly reason: string | null
}

/** A turn with its status and usage. Its messages have records of their own. */
export interface TurnRecord {
  readonly kind: 'turn'
  /** The conversation of the turn. */
  readonly conversationId: ConversationId
  /** The caller's key of the turn, unique in its conversation. */
  readonly key: string
  /** The name of the branch that the turn runs on. */
  readonly branch: string
  /** A turn that was still `open` stays open for the rest of its lease, at most 30 seconds. */
  readonly status: TurnStatus
  /** Its first message, usually the user's. */
  readonly first: MessagePosition
  /** Its last message so far. */
  readonly last: MessagePosition
  /** The number of its last write. */
  readonly lastStep: number
  /** The model of its last step that names one, or null. */
  readonly model: string | null
  /** SHA-256 of the system prompt in use, in hexadecimal. Null if unknown. */
  readonly promptHash: string | null
  /** Tokens and cost of all its steps. */
  readonly usage: Usage
  /** The process that held the turn, or null. */
  readonly holder: Holder | null
  /** When the holder's lease ends, in milliseconds since 1970. Null if the turn has no lease. */
  readonly leaseUntil: number | null
  /** Milliseconds since 1970. */
  readonly startedAt: number
  /** Milliseconds since 1970. Null while the turn is open. */
  readonly endedAt: number | null
}

/** A piece of an answer that was unfinished when the record was read. */
export interface DraftRecord {
  readonly kind: 'draft'
  /** The conversation of the turn. */
  readonly conversationId: ConversationId
  /** The key of the turn. */
  readonly turn: string
  /** The order of the pieces of one draft, from 0. */
  readonly n: number
  /** Whether the piece is part of the answer or of the model's reasoning. */
  readonly type: 'text' | 'thinking'
  /** The piece. Adjacent pieces of one type form one block when the draft becomes a message. */
  readonly text: string
}

/** A stored summary of a range of a path. */
export interface SummaryRecord {
  readonly kind: 'summary'
  /** The conversation that it summarizes. */
  readonly conversationId: ConversationId
  /** The oldest message of the range. */
  readonly first: MessageId
  /** The newest message of the range. `first` is on its path. */
  readonly last: MessageId
  /** The model that wrote the text, or null. */
  readonly model: string | null
  /** The size of `text`. */
  readonly tokens: number
  /** The text that represents the range. */
  readonly text: string
  /** SHA-256 in hexadecimal over the ids of the range, each followed by a newline. A wrong one is refused. */
  readonly checksum: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

/** A trace record. An event that the target has already, with the same type, time and data, is not added
 *  again. */
export interface EventRecord {
  readonly kind: 'event'
  /** The conversation that it was traced in. */
  readonly conversationId: ConversationId
  /** Order within the conversation, from 0. */
  readonly n: number
  /** The kind of thing that happened. */
  readonly type: EventType
  /** When it happened, in milliseconds since 1970. */
  readonly at: number
  /** Details, which depend on the type. */
  readonly data: JsonObject
}

/** A branch. If the target has continued it differently, the record becomes a sibling such as `main-2`. */
export interface BranchRecord {
  readonly kind: 'branch'
  /** The conversation of the branch. */
  readonly conversationId: ConversationId
  /** Unique in its conversation. */
  readonly name: string
  /** The message that the branch points to. Null before the first one. */
  readonly head: MessageId | null
  /** The caller's stable name for the branch, or null. It is not given if another branch of the target has
   *  it. */
  readonly key: string | null
  /** The key that it lost by trash, reset or expiry, or null. */
  readonly formerKey: string | null
  /** The key at the time when the conversation was trashed. Restoring sets it again. */
  readonly trashedKey: string | null
  /** A title of the branch's own, or null. */
  readonly title: string | null
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** When its head last moved, in milliseconds since 1970. */
  readonly updatedAt: number
}

/** A foreign agent's own id for a branch. A link of the target for the same agent and directory is kept. */
export interface AgentLinkRecord {
  readonly kind: 'agent_link'
  /** The conversation of the branch. */
  readonly conversationId: ConversationId
  /** The name of the branch. Its record has to come earlier. */
  readonly branch: string
  /** The name of the agent, such as `claude-code`. */
  readonly agent: string
  /** The working directory that the agent ran in. */
  readonly directory: string
  /** The agent's own id for its copy of the branch. */
  readonly foreignId: string
  /** The last message that the agent is known to have, or null. */
  readonly seen: MessageId | null
  /** Milliseconds since 1970. */
  readonly updatedAt: number
}

/** Data that is stored but could not be read, for example because the disk is damaged. */
export interface UnreadableRecord {
  readonly kind: 'unreadable'
  /** The conversation that was being read. */
  readonly conversationId: ConversationId
  /** For people: `message at seq 17`, `blob 39061532…`, `turns`. */
  readonly what: string
  /** The error of the engine, or the check that failed. */
  readonly reason: string
}

/** The outcome of writing a record. `present`: it was stored already and was left unchanged. `advanced`: an
 *  earlier state was stored and was brought forward, for example a branch whose head was an ancestor, an
 *  open turn, or a total that never decreases. */
export type RecordOutcome =
  | {
      /** The effect on the store. */
      readonly outcome: 'added' | 'present' | 'advanced'
      /** How the stored data differs from the record, for people. Null if it does not. */
      readonly note: string | null
    }
  | {
      readonly outcome: 'refused'
      /** Why it was not written, for people. */
      readonly reason: string
    }

/** One outcome for each record, in order. */
export type RecordOutcomes = readonly RecordOutcome[]

/** Moves conversations between stores and files without loss, as records. */
export interface RecordMover {
  /** Returns everything stored of a conversation, in an order in which it can be written: the conversation;
   *  messages and tombstones by seq, each blob before the first message that refers to it; turns, drafts,
   *  summaries, events; branches and links. Reads pages, so it takes little memory. Data written after the
   *  start is left out. Unreadable data is returned as `unreadable`, and reading continues. Throws
   *  NotFoundError, also for a conversation that is being purged. */
  readRecords(id: ConversationId): AsyncIterable<StoreRecord | UnreadableRecord>
  /** Writes records in one transaction. Computes every hash again. Every parent must be stored, or come
   *  earlier in the list. Records that are stored already (by id) are left unchanged, so writing twice has
   *  no effect. A record that cannot be written is refused with a reason, and so are the records that refer
   *  to it; the others are written. */
  writeRecords(records: readonly StoreRecord[]): Promise<RecordOutcomes>
  /** Returns all tasks with their dispatches, by id. They belong to no conversation. */
  readTaskRecords(): AsyncIterable<TaskRecord>
}
