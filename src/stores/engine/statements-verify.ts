import type { Conv, LinkRow, TurnRow } from './rows.ts'

/** The statements of `verify`. They return rows as stored, without joins that could hide some of them. */

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
  /** 1 if the prompt that it names is stored, or if it names none. */
  readonly prompt_known: number
  /** A JSON list. */
  readonly tags: string
}

export interface RawMessageRow {
  /** The seq under which an index found the row, if the engine used one. Otherwise the seq. */
  readonly found_at: number
  /** 1 if the row names this conversation. */
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
  /** In order of `conv`, after `after`. */
  rawConversations: [{ after: Conv | null; limit: number }, RawConversationRow]
  rawConversation: [{ id: string }, RawConversationRow]
  rawConversationAt: [InConv, RawConversationRow]
  /** Conversations outside the trash, the most recently used first. */
  recentConversations: [{ limit: number }, RawConversationRow]
  /** Conversations from an index, for a table that cannot be read. */
  knownConversations: [{ after: string | null; limit: number }, { conv: Conv; id: string }]
  /** The number of messages, from the counters of the conversations. */
  messageTotal: [None, { conversations: number; messages: number }]
  /** Rows of conversations that do not exist. */
  orphans: [None, { place: string; conv: string; count: number }]

  rawMessages: [Page, RawMessageRow]
  /** The same, read from an index. */
  rawSeqs: [Page, { seq: number }]
  rawPlaces: [InConv & { seqs: readonly number[] }, RawPositionRow]
  rawTombstones: [Page, { seq: number; parent_seq: number; id: string }]
  /** In order of their first messages. */
  rawTurns: [Page, TurnRow]
  blobRefs: [InConv & { lo: number; hi: number }, { seq: number; hash: string }]
  blobSizes: [{ hashes: readonly string[] }, { hash: string; size: number }]
  rawLinks: [InConv, LinkRow & { seen_seq: number | null }]
  draftedTurns: [InConv, { turn: string; pieces: number; last: number; status: string | null }]
  eventFacts: [InConv, { count: number; last: number | null }]
  rawTags: [InConv, { tag: string }]
  /** Messages below the mark that are missing in the search index although they have content. */
  unsearchable: [InConv & { from: number; below: number }, { count: number; first: number | null }]

  /** In order of their hashes. `used` is 1 if a message refers to the blob, `length` is the length of its
   *  data. */
  rawBlobs: [{ after: string; limit: number }, { hash: string; size: number; length: number; used: number }]
  /** Bytes of a blob from `offset` (from 0), if they are in its row. */
  blobPiece: [{ hash: string; offset: number; most: number }, { data: Uint8Array }]
  partCount: [{ hash: string }, { count: number }]
  /** The parts of blobs that do not exist (`known` is 0), or that have their bytes in their rows. */
  strayParts: [None, { hash: string; known: number; count: number }]
  blobUsers: [
    { hash: string; limit: number },
    { conversation_id: string; conv: Conv; seq: number; id: string },
  ]
  rawPrompts: [{ after: string; limit: number }, { hash: string; text: string }]
  /** Of some entries of the search index, or of all, those whose message does not exist; and the last of
   *  these entries, as text, because its number may exceed ours. Null if no entries are left. */
  looseSearchEntries: [{ after: string | null; limit: number }, { count: number; last: string | null }]
}
