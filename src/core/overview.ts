import type { ConversationId } from './ids.ts'
import type { ListedConversation } from './listing.ts'
import type { Message } from './message.ts'
import type { Turn } from './turn.ts'

/** A conversation with everything that a list shows of it. */
export interface ConversationOverview {
  /** The conversation and its active branch. */
  readonly conversation: ListedConversation
  /** The number of its branches. */
  readonly branches: number
  /** Messages on the path of the active branch. */
  readonly pathMessages: number
  /** The first message of a user, with previews of its blobs. Null if there is none among the first 50
   *  messages, or if it is damaged. */
  readonly first: Message | null
  /** The last message on the path of the active branch, with previews of its blobs. Null if there is none,
   *  or if it is damaged. */
  readonly last: Message | null
  /** The open turns, oldest first. A turn whose holder has died is open until its lease expires. */
  readonly openTurns: readonly Turn[]
  /** The agent that the active branch was last linked to, or null. */
  readonly agent: string | null
}

/** Reads what a list shows. */
export interface OverviewReader {
  /** Reads what a list shows of each conversation, in the same order. Takes a constant number of statements,
   *  however many conversations are given (at most 1,000). */
  readOverviews(conversations: readonly ListedConversation[]): Promise<readonly ConversationOverview[]>
  /** The versions of conversations, by id. An unknown id has no entry. Takes one statement. */
  versionsOf(ids: readonly ConversationId[]): Promise<ReadonlyMap<ConversationId, number>>
  /** The length of the shortest beginning of each id that no other id of a conversation or message has.
   *  `resolve` accepts it from six characters on. An unknown id has no entry. Takes one statement. */
  uniqueLengths(ids: readonly ConversationId[]): Promise<ReadonlyMap<ConversationId, number>>
}
