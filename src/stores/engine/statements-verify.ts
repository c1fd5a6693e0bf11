import type { Conv, TurnRow } from './rows.ts'

/** What a check of the store asks: rows as they lie there, with nothing left out and nothing put together. */

interface InConv {
  readonly conv: Conv
}
interface Page extends InConv {
  /** Exclusive. */
  readonly above: number
  readonly limit: number
}

export interface RawConversationRow {
  readonly conv: Conv
  readonly id: string
  readonly active_branch: string
  readonly next_seq: number
  readonly next_event: number
  readonly indexed_seq: number
  readonly messages: number
  readonly tokens: number
  readonly version: number
  readonly trashed_at: number | null
  readonly purging: number
  readonly prompt_hash: string | null
  /** 1 if the prompt that it names is there, or it names none. */
  readonly prompt_known: number
  /** JSON list. */
  readonly tags: string
}

export interface RawMessageRow {
  /** By which the row was found, where an engine finds it by an index; otherwise the seq. */
  readonly found_at: number
  /** 1 if the row says that it belongs to the conversation. */
  readonly mine: number
  readonly seq: number
  readonly id: string
  readonly parent_seq: number
  readonly run: number
  readonly depth: number
  readonly role: string
  readonly at: number
  readonly tokens: number
  readonly path_tokens: number
  readonly turn: number | null
  readonly step: number | null
  readonly label: string | null
  readonly body_hash: Uint8Array
  readonly body: string | null
  readonly erased: string | null
}

export type RawPositionRow = Pick<
  RawMessageRow,
  'seq' | 'id' | 'parent_seq' | 'run' | 'depth' | 'path_tokens' | 'turn'
>

type None = Readonly<Record<never, never>>

export interface VerifyStatements {
  /** In the order of `conv`, from behind `after`. */
  rawConversations: [{ after: Conv | null; limit: number }, RawConversationRow]
  rawConversation: [{ id: string }, RawConversationRow]
  rawConversationAt: [InConv, RawConversationRow]
  /** Living ones, those that were used last first. */
  recentConversations: [{ limit: number }, RawConversationRow]
  /** What an index knows of conversations, where the table cannot be read. */
  knownConversations: [{ after: string | null; limit: number }, { conv: Conv; id: string }]
  /** How many messages there are, by what the conversations say. */
  messageTotal: [None, { conversations: number; messages: number }]
  /** What hangs on a conversation that is not there. */
  orphans: [None, { place: string; conv: string; count: number }]

  rawMessages: [Page, RawMessageRow]
  /** The same, as far as an index knows it. */
  rawSeqs: [Page, { seq: number }]
  rawPlaces: [InConv & { seqs: readonly number[] }, RawPositionRow]
  rawTombstones: [Page, { seq: number; parent_seq: number; id: string }]
  /** In the order of their first messages. */
  rawTurns: [Page, TurnRow]
  blobRefs: [InConv & { lo: number; hi: number }, { seq: number; hash: string }]
  blobSizes: [{ hashes: readonly string[] }, { hash: string; size: number }]
  rawLinks: [InConv, { branch: string; agent: string; seen_seq: number | null; seen_id: string | null }]
  draftedTurns: [InConv, { turn: string; pieces: number; last: number; status: string | null }]
  eventFacts: [InConv, { count: number; last: number | null }]
  rawTags: [InConv, { tag: string }]
  /** Messages below the mark that the search index does not hold, though they have words. */
  unsearchable: [InConv & { below: number }, { count: number; first: number | null }]

  /** In the order of their hashes. `used` is 1 if a message refers to it, `length` what its data has. */
  rawBlobs: [{ after: string; limit: number }, { hash: string; size: number; length: number; used: number }]
  /** Bytes of a blob from `offset` (0 is the first). */
  blobPiece: [{ hash: string; offset: number; most: number }, { data: Uint8Array }]
  blobUsers: [
    { hash: string; limit: number },
    { conversation_id: string; conv: Conv; seq: number; id: string },
  ]
  rawPrompts: [{ after: string; limit: number }, { hash: string; text: string }]
  /** Entries of the search index whose message is gone. */
  looseSearchEntries: [None, { count: number }]
}
