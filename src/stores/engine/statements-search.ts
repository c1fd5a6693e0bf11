import type { CandidateRow, Conv, FoundRow } from './rows.ts'

interface InConv {
  readonly conv: Conv
}
interface Places {
  readonly places: readonly { readonly conv: Conv; readonly seq: number }[]
}
type None = Readonly<Record<never, never>>

/** The search index: what goes in, and what is asked of it. */
export interface SearchStatements {
  /** Conversations with messages that are not in the index, in the order of `conv`, from behind `after`. */
  unindexed: [{ after: Conv | null; limit: number }, { conv: Conv; id: string }]
  setIndexed: [InConv & { indexed_seq: number }, never]
  /** `tokens` are separated by spaces. */
  putSearchEntry: [InConv & { seq: number; at: number; tokens: string }, never]
  deleteSearchEntries: [InConv & { lo: number; hi: number }, never]
  clearSearch: [None, never]
  resetIndexed: [None, never]
  /** Messages of living conversations that the index takes for answers, newest first: no more of each than it takes to
   *  judge it, as there may be a hundred for one that is shown. */
  candidates: [
    {
      match: string
      from: number
      upto: number
      directory: string | null
      kind: string | null
      limit: number
    },
    CandidateRow,
  ]
  /** What is shown of these messages, in any order. */
  foundMessages: [Places, FoundRow]
  /** Which branches' paths hold these messages. */
  branchesHolding: [Places, { conv: Conv; seq: number; name: string; active: number }]
}
