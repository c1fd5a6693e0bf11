import type { Conv, ConversationTurnRow, EventRow, OverviewRow, TurnRow } from './rows.ts'

/** An id with the ones beside it in the order of texts. */
export interface NeighboursRow {
  readonly id: string
  readonly conversation_before: string | null
  readonly conversation_after: string | null
  readonly message_before: string | null
  readonly message_after: string | null
}

/** Statements that read many conversations, or a section of a path, at once. */
export interface OverviewStatements {
  /** One row for each of the conversations that exist. The first message of a user is looked for among the
   *  first message and the 49 seqs after it. */
  overviews: [{ ids: readonly string[] }, OverviewRow]
  /** The open turns of these conversations, oldest first. */
  openTurnsOf: [{ ids: readonly string[] }, ConversationTurnRow]
  versionsByIds: [{ ids: readonly string[] }, { id: string; version: number }]
  /** For each id, whether it exists or not, the ids directly before and after it. */
  neighboursOf: [{ ids: readonly string[] }, NeighboursRow]
  /** The turns that begin with these seqs. */
  turnsAt: [{ conv: Conv; firsts: readonly number[] }, TurnRow]
  /** The children of the messages with these seqs, -1 for the roots; the first 100 of each, and the one that
   *  directly follows it. */
  childrenOf: [{ conv: Conv; parents: readonly number[] }, { parent_seq: number; seq: number; id: string }]
  /** The newest 10,000 tool events with these keys, newest first. A key is the id of the message with the
   *  call, or that of the call. */
  toolEvents: [{ conv: Conv; keys: readonly string[] }, EventRow]
}
