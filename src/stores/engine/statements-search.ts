import type { ListParams } from './list-params.ts'
import type {
  CandidateRow,
  Conv,
  FoundRow,
  IndexMark,
  MessageSpan,
  SpanRow,
  UnindexedNewestRow,
  UnindexedRow,
} from './rows.ts'

interface InConv {
  readonly conv: Conv
}
interface Places {
  readonly places: readonly { readonly conv: Conv; readonly seq: number }[]
}
interface CandidateParams {
  readonly match: string
  /** Numbers that the entries must have besides `match`. Null: none. */
  readonly pairs: readonly number[] | null
  readonly from: number
  readonly upto: number
  readonly directories: readonly string[] | null
  readonly kind: string | null
  /** The prefixes of `match`, as a query. If the newest entries often have all of them, an engine for which
   *  that is slow may return no row. */
  readonly rare: string | null
  readonly limit: number
}
type None = Readonly<Record<never, never>>

/** Statements for search. */
export interface SearchStatements {
  /** Conversations with messages that are not in the index, in order of `conv` after `after`. */
  unindexed: [{ after: Conv | null; limit: number }, UnindexedRow]
  /** Such conversations outside the trash, the newest first. */
  unindexedNewest: [{ limit: number }, UnindexedNewestRow]
  /** Unindexed messages of such conversations, in any order. */
  unindexedMessages: [{ limit: number }, SpanRow]
  /** Messages of several conversations, in any order. */
  messagesIn: [{ spans: readonly MessageSpan[] }, SpanRow]
  /** Locks conversations. Moves the marks that still have the value `seq_from`, and returns which. An engine
   *  that locks single conversations leaves out those that are locked. */
  markIndexed: [{ marks: readonly IndexMark[] }, { conv: Conv }]
  /** `tokens` are separated by spaces. `pairs` is empty if the pairs are among the tokens. Does nothing for a
   *  message that was erased or deleted. */
  putSearchEntry: [InConv & { seq: number; at: number; tokens: string; pairs: readonly number[] }, never]
  deleteSearchEntries: [InConv & { lo: number; hi: number }, never]
  /** A bounded part of the work that the index needs after writes, to stay fast. */
  tidyIndex: [None, never]
  /** The number of parts in which a search looks up each word. 1 if the engine has no such parts. */
  indexParts: [None, { parts: number }]
  /** 2 if the entries of the index have a token for each pair of tokens, 3 if they have a number for it. */
  indexForm: [None, { form: number }]
  clearSearch: [None, never]
  resetIndexed: [None, never]
  /** The newest messages that match in the index, in any order, from conversations outside the trash. Returns
   *  only the columns that are needed to check a candidate: there may be a hundred candidates for one
   *  result. */
  candidates: [
    CandidateParams & {
      /** The conversations that `match` names, if it names some and no other filter is given. An engine may
       *  read their entries instead of its index. */
      convs: readonly Conv[] | null
    },
    CandidateRow,
  ]
  /** The same in the conversations that the filters of `scopeConversations` match. No row if they are more
   *  than 1,000. Only for an engine behind a network, which needs no request of its own for the filters
   *  then. */
  scopedCandidates: [CandidateParams & Omit<ListParams, 'directories' | 'kind'>, CandidateRow]
  /** The time of the match that follows the newest `span` matches up to `upto`, of all conversations. No row
   *  if there are not so many. */
  searchFloor: [
    { match: string; pairs: readonly number[] | null; from: number; upto: number; span: number },
    { at: number },
  ]
  /** The columns to show of these messages, in any order. */
  foundMessages: [Places, FoundRow]
  /** The branches whose paths contain these messages. */
  branchesHolding: [Places, { conv: Conv; seq: number; name: string; active: number }]
}
