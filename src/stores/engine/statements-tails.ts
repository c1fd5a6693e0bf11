import type { ChainRow, SummaryRow } from './rows.ts'

/** A branch with this key, or the branch of this conversation with this name. The other parameters are
 *  null. */
interface NamedBranch {
  readonly key: string | null
  readonly id: string | null
  readonly name: string | null
}

interface Budget {
  readonly tokens: number
  readonly messages: number
}

/** The newest part of a path, and what is read with it. */
export interface TailStatements {
  /** The newest messages of the path to `id` within `tokens` and `messages`, in any order, and without its
   *  body the message before them. */
  tail: [Budget & { id: string }, ChainRow]
  /** The same for the path to the head of a branch. */
  tailOfBranch: [Budget & NamedBranch, ChainRow]
  /** The newest summaries of the conversation of a branch, newest first. */
  summariesOfBranch: [NamedBranch & { limit: number }, SummaryRow]
}
