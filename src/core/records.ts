import type { Holder } from './errors.ts'
import type { ConversationId, MessageId } from './ids.ts'
import type { JsonObject } from './json.ts'

/** A stored text that stands for a range of a path: beside the messages, never instead of them. */
export interface Summary {
  readonly conversationId: ConversationId
  readonly first: MessageId
  readonly last: MessageId
  readonly model: string | null
  readonly tokens: number
  readonly text: string
  /** SHA-256 in hex over the ids of the range, each followed by a newline. */
  readonly checksum: string
  readonly createdAt: Date
}

/** The stretch of a path that a summary covers: `first` is an ancestor of `last`, or the same message. */
export interface Range {
  readonly first: MessageId
  readonly last: MessageId
}

export interface NewSummary extends Range {
  readonly model?: string
  readonly tokens: number
  readonly text: string
  /** Who claimed the range before making the summary. */
  readonly holder: Holder
}

/** Either the range is the caller's to summarise now, or it was summarised before. */
export type SummaryClaim = { readonly claimed: true } | { readonly claimed: false; readonly summary: Summary }

export type EventType =
  | 'turn_started'
  | 'turn_ended'
  | 'tool_started'
  | 'tool_ended'
  | 'resume'
  | 'permission'
  | 'plan'
  | 'channel_edit'
  | 'channel_delete'
  | 'degraded'
  | 'recovered'

/** A trace record. Nothing reads one to rebuild a conversation. */
export interface TraceEvent {
  readonly conversationId: ConversationId
  /** Order within the conversation, from 0. */
  readonly n: number
  readonly type: EventType
  readonly at: Date
  readonly data: JsonObject
}

export interface NewEvent {
  readonly type: EventType
  readonly at?: Date
  readonly data?: JsonObject
}

export interface EventListing {
  /** Only events behind this one. */
  readonly after?: number
  readonly types?: readonly EventType[]
  /** The newest ones up to the limit, instead of the oldest; in order all the same. */
  readonly newest?: true
  /** 1,000 unless said otherwise, 100,000 at most; go on with `after`. */
  readonly limit?: number
}

/** A stretch of the tree without a fork: the unit in which a tree is drawn. */
export interface Run {
  readonly first: MessageId
  readonly last: MessageId
  readonly firstSeq: number
  readonly lastSeq: number
  /** The message it hangs on, or null for a root. */
  readonly parent: MessageId | null
  readonly parentSeq: number | null
  readonly messages: number
  readonly tokens: number
  readonly startedAt: Date
  readonly endedAt: Date
}
