import type { ConversationId } from './ids.ts'
import type { SeqRange } from './runs.ts'

/** How bad a finding is. `damage`: words are lost or changed, or who said them, when and after what. `repairable`:
 *  something is wrong that follows from the rest and can be computed anew. `note`: odd, but lawful. */
export type Severity = 'damage' | 'repairable' | 'note'

/** Something that a check of the store has found. */
export interface Finding {
  readonly severity: Severity
  /** Whose it is; null if it belongs to the store as a whole. An id that is damaged stands here as it was found. */
  readonly conversation: string | null
  readonly message: string | null
  readonly branch: string | null
  readonly seq: number | null
  /** What is wrong, as part of a sentence. */
  readonly what: string
  /** How many messages come before it on its path, where that can be told. */
  readonly before: number | null
  /** The messages that stand on it; null where it is no message, or where nobody can tell. */
  readonly standing: readonly SeqRange[] | null
}

export interface VerifyProgress {
  readonly messages: number
  /** How many there will be, by what the conversations say. */
  readonly total: number
}

export interface VerifyOptions {
  /** Only these; otherwise everything, what belongs to no conversation included. */
  readonly conversations?: readonly ConversationId[]
  /** A sample instead of all: so many messages, the newest of the conversations that were used last. */
  readonly newest?: number
  readonly signal?: AbortSignal
  /** Told each finding as soon as it is sure, so that nobody has to hold them all. */
  readonly onFinding?: (finding: Finding) => void
  readonly onProgress?: (progress: VerifyProgress) => void
}

/** What was looked at, and how much was found. */
export interface Verified {
  readonly conversations: number
  readonly messages: number
  /** Words that were taken away on purpose: their place is there, and is sound. */
  readonly erased: number
  readonly blobs: number
  readonly findings: Readonly<Record<Severity, number>>
  /** Conversations with damage. */
  readonly damaged: number
}

/** How many messages stand on a finding. */
export function countDependents({ standing }: Finding): number | null {
  return standing === null ? null : standing.reduce((sum, { lo, hi }) => sum + hi - lo + 1, 0)
}
