import type { ConversationId } from './ids.ts'

/** The usage of one model, within a quarter of an hour or before the given time. */
export interface UsageSum {
  /** The model of the turns, or null for turns that name none. */
  readonly model: string | null
  /** Quarters of an hour since 1970, so that a caller can sum them to days of its own time zone. Null for
   *  usage before the given time. */
  readonly quarter: number | null
  /** The number of turns. */
  readonly turns: number
  /** Input tokens that the provider charged. */
  readonly input: number
  /** Output tokens that the provider charged. */
  readonly output: number
  /** The cost of the turns that have one. */
  readonly cost: number
  /** Tokens of turns without a known cost. */
  readonly uncosted: number
}

/** How much a store holds. */
export interface Measured {
  /** Without those in the trash. */
  readonly conversations: number
  /** Messages of the conversations outside the trash. */
  readonly messages: number
  /** Used since the given time. */
  readonly recent: { readonly conversations: number; readonly messages: number }
  /** Conversations in the trash. */
  readonly trashed: number
  /** Blobs of all conversations, each counted once, with the sum of their sizes. */
  readonly blobs: { readonly count: number; readonly bytes: number }
  /** All usage, including that of conversations in the trash. */
  readonly usage: readonly UsageSum[]
  /** Storage by part, as the engine reports it. */
  readonly sizes: readonly { readonly name: string; readonly bytes: number }[]
}

/** The size of a conversation. */
export interface ConversationSize {
  /** The number of messages. */
  readonly messages: number
  /** The bytes of their content and metadata. A blob counts once for each message that has it. */
  readonly bytes: number
}

/** Measures the store. */
export interface Meter {
  /** Counts, sizes and usage, summed by the engine. Usage since the given time is split into quarters of an
   *  hour. */
  measure(since: Date): Promise<Measured>
  /** The size of a conversation, summed by the engine. */
  measureConversation(id: ConversationId): Promise<ConversationSize>
}
