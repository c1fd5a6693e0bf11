import type { ConversationId } from './ids.ts'
import type { SeqRange } from './runs.ts'

/** How bad a finding is. `damage`: content, role, time or parent of a message is lost or changed.
 *  `repairable`: a derived value is wrong and can be computed again. `note`: unusual, but valid. */
export type Severity = 'damage' | 'repairable' | 'note'

/** A result of checking the store. */
export interface Finding {
  /** How bad it is. Only `damage` means that content is lost or changed. */
  readonly severity: Severity
  /** The conversation, or null for the store as a whole. A damaged id is given as it was found. */
  readonly conversation: string | null
  /** The id of the message as stored, or null if the finding is not about one. */
  readonly message: string | null
  /** The name of the branch, or null if the finding is not about one. */
  readonly branch: string | null
  /** The seq of the message, for damage that leaves no readable id. Null if the finding is not about a
   *  message. */
  readonly seq: number | null
  /** The problem, as part of a sentence. */
  readonly what: string
  /** How many messages precede it on its path, if that is known. */
  readonly before: number | null
  /** The messages after it on all paths. Null if the finding is not about a message, or if they are
   *  unknown. */
  readonly standing: readonly SeqRange[] | null
}

/** How far a check has come. */
export interface VerifyProgress {
  /** Messages checked so far. */
  readonly messages: number
  /** The expected number, from the counters of the conversations. */
  readonly total: number
}

/** What `verify` checks, and how to follow it. */
export interface VerifyOptions {
  /** Checks only these conversations. Default: everything, including data that belongs to no
   *  conversation. */
  readonly conversations?: readonly ConversationId[]
  /** Checks a sample: this many messages, the newest of the most recently used conversations. */
  readonly sampleSize?: number
  /** Stops the check with the signal's reason. Findings reported before remain valid. */
  readonly signal?: AbortSignal
  /** Called with each finding as soon as it is certain, so that they need not be collected. */
  readonly onFinding?: (finding: Finding) => void
  /** Called after each page of messages. */
  readonly onProgress?: (progress: VerifyProgress) => void
}

/** What was checked, and how much was found. */
export interface Verified {
  /** Conversations checked, including those in the trash. */
  readonly conversations: number
  /** Messages checked, including erased ones. */
  readonly messages: number
  /** Messages that were erased on purpose and are otherwise intact. */
  readonly erased: number
  /** Blobs whose hash was computed again. */
  readonly blobs: number
  /** The number of findings of each severity. */
  readonly findings: Readonly<Record<Severity, number>>
  /** Conversations that have damage. */
  readonly damaged: number
}

/** How many messages come after the message of a finding. */
export function countDependents({ standing }: Finding): number | null {
  return standing === null ? null : standing.reduce((sum, { lo, hi }) => sum + hi - lo + 1, 0)
}

/** Checks stored data. */
export interface Verifier {
  /** Recomputes everything that can be recomputed, independently of the other readers, and reports
   *  differences. Unreadable data is a finding and hides nothing else. Writers may continue during the
   *  check.
   *
   * @example
   * ```ts
   * import { openStore } from 'skein'
   *
   * await using store = await openStore(':memory:')
   * const { branch } = await store.create()
   * await store.append(branch, null, [{ role: 'user', content: 'Keep this.' }])
   *
   * const { messages, damaged } = await store.verify({ onFinding: finding => console.error(finding) })
   * console.log(`${messages} message checked, ${damaged} conversations damaged`)
   * // 1 message checked, 0 conversations damaged
   * ```
   */
  verify(options?: VerifyOptions): Promise<Verified>
}
