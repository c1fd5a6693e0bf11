import type { Holder } from './errors.ts'
import type { ConversationId, MessageId } from './ids.ts'

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
export interface MessageRange {
  readonly first: MessageId
  readonly last: MessageId
}

export interface NewSummary extends MessageRange {
  readonly model?: string
  readonly tokens: number
  readonly text: string
  /** Who claimed the range before making the summary. */
  readonly holder: Holder
}

/** Either the range is the caller's to summarise now, or it was summarised before. */
export type SummaryClaim = { readonly claimed: true } | { readonly claimed: false; readonly summary: Summary }
