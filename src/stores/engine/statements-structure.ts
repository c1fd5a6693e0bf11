import type { Conv } from './rows.ts'

/** A range of messages without a fork: its first message, the parent of it, and its last message. */
export interface StretchRow {
  readonly first_seq: number
  readonly first_id: string
  readonly first_at: number
  /** The tokens of the path before the first message. */
  readonly before_tokens: number
  readonly parent_seq: number
  readonly parent_id: string | null
  readonly last_seq: number
  readonly last_id: string
  readonly last_at: number
  /** The tokens of the path up to the last message. */
  readonly path_tokens: number
}

/** The shape of a tree. A run is a range of messages each of which directly follows its parent. */
export interface StructureStatements {
  /** The stretches after a seq, ascending. Reads a few rows for each of them, however long it is and however
   *  many others there are. */
  stretches: [{ conv: Conv; after: number; limit: number }, StretchRow]
  /** The starts of the runs at or after `from`, by parent: those after this parent and seq. */
  runStarts: [
    { conv: Conv; from: number; parent_seq: number; seq: number; limit: number },
    { seq: number; parent_seq: number },
  ]
  /** The parents of the first messages of these runs, and then of the runs above them, in steps of one run:
   *  those asked for, their parents, and so on. `parent_run` is null if there is none. */
  runParents: [
    { conv: Conv; runs: readonly number[]; limit: number },
    { run: number; parent_seq: number; parent_run: number | null },
  ]
}
