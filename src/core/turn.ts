import type { Holder } from './errors.ts'
import type { ConversationId, MessageId } from './ids.ts'

export type TurnStatus = 'open' | 'complete' | 'interrupted' | 'failed'

/** What a provider charged. */
export interface Usage {
  readonly input?: number
  readonly output?: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
  readonly reasoning?: number
  readonly cost?: number
}

/** Sums what is there; a kind of token that nobody reported stays absent. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum: { -readonly [K in keyof Usage]: number } = { ...a } as never
  for (const kind of ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning', 'cost'] as const) {
    if (b[kind] !== undefined) sum[kind] = (a[kind] ?? 0) + b[kind]
  }
  return sum
}

/** A user message and all that follows until the agent hands back. */
export interface Turn {
  readonly conversationId: ConversationId
  readonly key: string
  readonly branch: string
  readonly status: TurnStatus
  /** Seqs of its first and last message. */
  readonly first: number
  readonly last: number
  readonly lastStep: number
  readonly model: string | null
  readonly promptHash: string | null
  readonly usage: Usage
  /** Who holds it while it is open. */
  readonly holder: Holder | null
  readonly leaseUntil: Date | null
  readonly startedAt: Date
  readonly endedAt: Date | null
}

/** The part of a turn that one append writes. The pair (key, step) is unique in its conversation. */
export interface TurnStep {
  readonly key: string
  readonly step: number
  /** The status after this write, `complete` unless said otherwise. `open` holds the branch for `holder`. */
  readonly status?: TurnStatus
  /** Required while the turn is open: who holds it. */
  readonly holder?: Holder
  readonly model?: string
  readonly promptHash?: string
  /** What this step cost; added to what earlier steps of the turn cost. */
  readonly usage?: Usage
}

/** How a turn ends without a further message. Pieces of a draft become one last message. */
export interface TurnEnd {
  readonly status: Exclude<TurnStatus, 'open'>
  readonly usage?: Usage
  /** Ends it only if this holder has it: the holder itself, or whoever saw that its lease ran out. */
  readonly heldBy: Holder
}

export interface EndedTurn {
  readonly turn: Turn
  /** The message that the draft became, if there was one. */
  readonly message: MessageId | null
}

/** A piece of an answer that is still arriving. */
export interface DraftPiece {
  /** Counts from 0 within the step. */
  readonly n: number
  readonly type: 'text' | 'thinking'
  readonly text: string
}

/** How long a holder that goes silent keeps a branch. */
export const leaseMs = 30_000

/** How far the clocks of two hosts may be apart before a lease is taken for the work of a wrong one. */
const mostSkewMs = 86_400_000

/** Whether a lease has run out. No lease is longer than half a minute, so that one which ends days from now was written
 *  by a clock that has jumped: it would hold its branch for years, and has run out as well. */
export function hasRunOut(leaseUntil: number | null, now: number): boolean {
  return leaseUntil === null || leaseUntil <= now || leaseUntil > now + leaseMs + mostSkewMs
}
