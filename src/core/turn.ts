import type { Holder } from './errors.ts'
import type { ConversationId, MessageId } from './ids.ts'

export type TurnStatus = 'open' | 'complete' | 'interrupted' | 'failed'

/** Tokens and cost as charged by a provider. */
export interface Usage {
  readonly input?: number
  readonly output?: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
  readonly reasoning?: number
  readonly cost?: number
}

/** Adds two usages. A kind of token that neither reports stays absent. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum: { -readonly [K in keyof Usage]: number } = { ...a } as never
  for (const kind of ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning', 'cost'] as const) {
    if (b[kind] !== undefined) sum[kind] = (a[kind] ?? 0) + b[kind]
  }
  return sum
}

/** A user message and everything that follows until the agent returns control. */
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
  /** The process that holds it while it is open. */
  readonly holder: Holder | null
  readonly leaseUntil: Date | null
  readonly startedAt: Date
  readonly endedAt: Date | null
}

/** The part of a turn that one append writes. The pair (key, step) is unique in its conversation. */
export interface TurnStep {
  readonly key: string
  readonly step: number
  /** The status after this write. Default: `complete`. `open` holds the branch for `holder`. */
  readonly status?: TurnStatus
  /** Required while the turn is open. */
  readonly holder?: Holder
  readonly model?: string
  readonly promptHash?: string
  /** The usage of this step. Added to that of earlier steps of the turn. */
  readonly usage?: Usage
}

/** Ends a turn without a further message. The pieces of its draft become one last message. */
export interface TurnEnd {
  readonly status: Exclude<TurnStatus, 'open'>
  readonly usage?: Usage
  /** The expected holder. Ends the turn only if this process holds it. */
  readonly heldBy: Holder
}

export interface EndedTurn {
  readonly turn: Turn
  /** The message that the draft became, or null if there was no draft. */
  readonly message: MessageId | null
}

/** A piece of an unfinished answer. */
export interface DraftPiece {
  /** Counted from 0 within the step. */
  readonly n: number
  readonly type: 'text' | 'thinking'
  readonly text: string
}

/** How long a holder keeps a branch without renewing the lease. */
export const leaseMs = 30_000

/** The largest accepted difference between the clocks of two hosts. */
const mostSkewMs = 86_400_000

/** Whether a lease has expired. A lease lasts half a minute. One that ends days from now was written with a
 *  wrong clock and counts as expired, because it would hold its branch for years. */
export function hasRunOut(leaseUntil: number | null, now: number): boolean {
  return leaseUntil === null || leaseUntil <= now || leaseUntil > now + leaseMs + mostSkewMs
}
