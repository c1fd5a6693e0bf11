import type { Holder } from './errors.ts'
import type { ConversationId, MessageId } from './ids.ts'

/** A stored text that represents a range of a path. It is stored in addition to the messages. */
export interface Summary {
  /** The conversation of the range. */
  readonly conversationId: ConversationId
  /** The oldest message of the range. */
  readonly first: MessageId
  /** The newest message of the range. */
  readonly last: MessageId
  /** The model that wrote it, or null. */
  readonly model: string | null
  /** The size of `text`, for budgets. */
  readonly tokens: number
  /** The text that represents the range in a context. */
  readonly text: string
  /** SHA-256 in hex over the ids of the range, each followed by a newline. */
  readonly checksum: string
  /** When it was stored. */
  readonly createdAt: Date
}

/** The range of a path that a summary covers. `first` is an ancestor of `last`, or the same message. */
export interface MessageRange {
  /** The oldest message of the range. */
  readonly first: MessageId
  /** The newest message of the range. */
  readonly last: MessageId
}

/** A summary to store. */
export interface NewSummary extends MessageRange {
  /** The model that wrote it. Default: none. */
  readonly model?: string
  /** The size of `text`, for budgets. */
  readonly tokens: number
  /** The text that represents the range in a context. */
  readonly text: string
  /** The process that claimed the range. */
  readonly holder: Holder
}

/** Whether the caller may summarize the range now, or the summary that exists already. */
export type SummaryClaim =
  | { readonly claimed: true }
  | {
      readonly claimed: false
      /** The stored summary of the range. */
      readonly summary: Summary
    }
