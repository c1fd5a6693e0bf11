import type {
  BranchRow,
  Conv,
  ConversationFields,
  LinkRow,
  LocatedRow,
  MessageFields,
  SummaryRow,
  TurnRow,
} from './rows.ts'

interface InConv {
  readonly conv: Conv
}
interface SeqSpan extends InConv {
  readonly lo: number
  readonly hi: number
}

/** A message with all its columns, and the ids of the messages that it refers to by seq. */
export interface MessageRecordRow {
  readonly seq: number
  readonly id: string
  readonly parent_id: string | null
  readonly parent_seq: number
  readonly role: string
  readonly at: number
  readonly tokens: number
  readonly turn_id: string | null
  readonly turn: number | null
  readonly step: number | null
  readonly label: string | null
  readonly body_hash: Uint8Array
  readonly body: string | null
  readonly erased: string | null
}

export interface TombstoneRow {
  readonly seq: number
  readonly parent_seq: number
  /** The id of its parent, a message or a tombstone. */
  readonly parent_id: string | null
  readonly id: string
  readonly at: number
  readonly reason: string | null
}

/** The ids of messages or tombstones. */
export interface TurnRecordRow extends TurnRow {
  readonly first_id: string | null
  readonly last_id: string | null
}

/** The statements that read and write records. */
export interface RecordStatements {
  // Reading
  /** The length of each body, without reading the bodies. No rows if they have at most `most` bytes
   *  together. */
  bodySizes: [SeqSpan & { most: number }, { seq: number; size: number }]
  /** Parents and turns that are in the range themselves have no ids. */
  messageRecords: [SeqSpan, MessageRecordRow]
  tombstoneRecords: [SeqSpan, TombstoneRow]
  /** Turns that begin below a seq, in order of their keys after `after`. */
  turnRecords: [InConv & { after: string; below: number; limit: number }, TurnRecordRow]
  /** The open turns, with leases as they are stored. */
  openTurnRecords: [InConv, TurnRow]
  /** Finished summaries that end below a seq, after a range. */
  summaryRecords: [
    InConv & { after_last: number; after_first: number; below: number; limit: number },
    SummaryRow,
  ]
  linkRecords: [InConv, LinkRow]

  // Writing
  locateAll: [{ ids: readonly string[] }, LocatedRow]
  buried: [InConv & { ids: readonly string[] }, { seq: number; id: string }]
  /** Those of the blobs that are stored. They cannot be removed before the transaction ends. */
  keepBlobs: [{ hashes: readonly string[] }, { hash: string; size: number }]
  /** Returns no row if the id is taken. */
  insertConversationRecord: [
    ConversationFields & {
      id: string
      kind: string
      parent_id: string | null
      parent_message: string | null
      active_branch: string
      tokens_used: number
      cost: number
      created_at: number
      updated_at: number
      trashed_at: number | null
    },
    { conv: Conv },
  ]
  /** Writes nothing if none of the three values would rise. */
  raiseTotals: [InConv & { tokens_used: number; cost: number; updated_at: number }, never]
  insertMessageRecord: [MessageFields & { body: string | null; erased: string | null }, never]
  insertTombstone: [
    InConv & { seq: number; parent_seq: number; id: string; at: number; reason: string | null },
    never,
  ]
  /** Updates counters and version, but no time and no expiry. */
  growByRecords: [InConv & { next_seq: number; added: number; tokens: number }, never]
  /** Turns with these keys, in any order. */
  turnsByKeys: [InConv & { keys: readonly string[] }, TurnRow]
  insertTurnRecord: [InConv & TurnRow, never]
  /** Replaces the turn with this key. */
  putTurnRecord: [InConv & TurnRow, never]
  putSummaryRecord: [
    InConv & {
      first_seq: number
      last_seq: number
      first_id: string
      last_id: string
      model: string | null
      tokens: number
      text: string
      checksum: string
      created_at: number
    },
    never,
  ]
  erasedBetween: [SeqSpan, { erased: string }]
  eventLike: [InConv & { type: string; at: number; data: string }, { n: number }]
  putBranchRecord: [InConv & BranchRow, never]
}
