import type { Holder } from './errors.ts'
import type { ConversationId, MessageId } from './ids.ts'

/** A stored text that represents a range of a path. It is stored in addition to the messages. */
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

/** The range of a path that a summary covers. `first` is an ancestor of `last`, or the same message. */
export interface MessageRange {
  readonly first: MessageId
  readonly last: MessageId
}

export interface NewSummary extends MessageRange {
  readonly model?: string
  readonly tokens: number
  readonly text: string
  /** The process that claimed the range. */
  readonly holder: Holder
}

/** Whether the caller may summarize the range now, or the summary that exists already. */
export type SummaryClaim = { readonly claimed: true } | { readonly claimed: false; readonly summary: Summary }
