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

/** A message with all that is stored of it, and the ids of what it refers to by seq. */
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
  /** Of the message or tombstone it hangs on. */
  readonly parent_id: string | null
  readonly id: string
  readonly at: number
  readonly reason: string | null
}

/** Ids of messages that are there, or of which there is a tombstone. */
export interface TurnRecordRow extends TurnRow {
  readonly first_id: string | null
  readonly last_id: string | null
}

/** What moving conversations asks of an engine. */
export interface RecordStatements {
  // Reading
  /** The length of each body, without reading any. */
  bodySizes: [SeqSpan, { seq: number; size: number }]
  messageRecords: [SeqSpan, MessageRecordRow]
  tombstoneRecords: [SeqSpan, TombstoneRow]
  /** In the order of their keys, from behind `after`, of those that begin below a seq. */
  turnRecords: [InConv & { after: string; below: number; limit: number }, TurnRecordRow]
  /** Finished ones that end below a seq, from behind a range. */
  summaryRecords: [
    InConv & { after_last: number; after_first: number; below: number; limit: number },
    SummaryRow,
  ]
  linkRecords: [InConv, LinkRow]

  // Writing
  locateAll: [{ ids: readonly string[] }, LocatedRow]
  buried: [InConv & { ids: readonly string[] }, { seq: number; id: string }]
  /** Those of the blobs that are there. Nobody removes one of them before the transaction ends. */
  keepBlobs: [{ hashes: readonly string[] }, { hash: string; size: number }]
  /** Gives no row if the id is taken. */
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
  /** Writes nothing if none of the three would rise. */
  raiseTotals: [InConv & { tokens_used: number; cost: number; updated_at: number }, never]
  insertMessageRecord: [MessageFields & { body: string | null; erased: string | null }, never]
  insertTombstone: [
    InConv & { seq: number; parent_seq: number; id: string; at: number; reason: string | null },
    never,
  ]
  /** Counters and version, and nothing that time or activity would change. */
  growByRecords: [InConv & { next_seq: number; added: number; tokens: number }, never]
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
