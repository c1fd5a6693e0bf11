import type { Holder } from './errors.ts'
import type { ConversationId, MessageId } from './ids.ts'

/** `open` while a process works on the turn. `interrupted` and `failed` turns can be reopened. */
export type TurnStatus = 'open' | 'complete' | 'interrupted' | 'failed'

/** Tokens and cost as charged by a provider. */
export interface Usage {
  /** Tokens of the request, including cached ones. */
  readonly input?: number
  /** Tokens of the answer, including reasoning. */
  readonly output?: number
  /** Part of `input` that was read from the provider's cache. */
  readonly cacheRead?: number
  /** Part of `input` that was written to the provider's cache. */
  readonly cacheWrite?: number
  /** Part of `output` that is reasoning. */
  readonly reasoning?: number
  /** US dollars. Absent if unknown. */
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
  /** The conversation of the turn. */
  readonly conversationId: ConversationId
  /** The caller's name for the turn, unique in its conversation. */
  readonly key: string
  /** The name of the branch that it runs on. */
  readonly branch: string
  /** How it ended, or `open`. */
  readonly status: TurnStatus
  /** Seqs of its first and last message. */
  readonly first: number
  /** Equal to `first` if the turn has one message. */
  readonly last: number
  /** The number of its last write. The next step has a higher one. */
  readonly lastStep: number
  /** The model of its last step that names one, or null. */
  readonly model: string | null
  /** SHA-256 of the system prompt in use, in hexadecimal. Null if unknown. */
  readonly promptHash: string | null
  /** The sum of its steps. */
  readonly usage: Usage
  /** The process that holds it while it is open. */
  readonly holder: Holder | null
  /** When another process may take the turn over, unless the holder renews it. Null if it is not open. */
  readonly leaseUntil: Date | null
  /** The time of its first write. */
  readonly startedAt: Date
  /** Null while it is open. */
  readonly endedAt: Date | null
}

/** The part of a turn that one append writes. The pair (key, step) is unique in its conversation. */
export interface TurnStep {
  /** The caller's name for the turn. */
  readonly key: string
  /** The number of the write, from 0, ascending. A repeated number is a retry. */
  readonly step: number
  /** The status after this write. Default: `complete`. `open` holds the branch for `holder`. */
  readonly status?: TurnStatus
  /** Required while the turn is open. */
  readonly holder?: Holder
  /** The model that made the messages. Default: that of the step before. */
  readonly model?: string
  /** SHA-256 of the system prompt in use, in hexadecimal. Default: that of the step before. */
  readonly promptHash?: string
  /** The usage of this step. Added to that of earlier steps of the turn. */
  readonly usage?: Usage
}

/** Ends a turn without a further message. The pieces of its draft become one last message. */
export interface TurnEnd {
  /** The final status. */
  readonly status: Exclude<TurnStatus, 'open'>
  /** Added to the usage of the turn. Default: nothing. */
  readonly usage?: Usage
  /** The expected holder. Ends the turn only if this process holds it. */
  readonly heldBy: Holder
}

/** A turn that has ended. */
export interface EndedTurn {
  /** The turn with its final status. */
  readonly turn: Turn
  /** The message that the draft became, or null if there was no draft. */
  readonly message: MessageId | null
}

/** A piece of an unfinished answer. */
export interface DraftPiece {
  /** Counted from 0 within the step. */
  readonly n: number
  /** Whether the piece is part of the answer or of the model's reasoning. */
  readonly type: 'text' | 'thinking'
  /** The piece. Adjacent pieces of one type form one block. */
  readonly text: string
}

/** How long a holder keeps a branch without renewing the lease, if the store was opened with no other. */
export const leaseMs = 30_000

/** The limits of the length of a lease. */
export const leaseLimits = { shortest: 5_000, longest: 60_000 } as const

/** The largest accepted difference between the clocks of two hosts. */
const mostSkewMs = 86_400_000

/** Whether a lease has expired. A lease lasts half a minute. One that ends days from now was written with a
 *  wrong clock and counts as expired, because it would hold its branch for years. */
export function hasRunOut(leaseUntil: number | null, now: number): boolean {
  return leaseUntil === null || leaseUntil <= now || leaseUntil > now + leaseLimits.longest + mostSkewMs
}
