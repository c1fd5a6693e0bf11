import type { Block } from '../core/block.ts'
import type { MessageId } from '../core/ids.ts'
import type { ContextMessage } from '../core/model.ts'

/** Counts the tokens of a message's blocks. */
export type CountTokens = (blocks: readonly Block[]) => number

/** How much a model may be given. */
export interface Window {
  /** The model's window, in tokens. */
  readonly limit: number
  /** The part of it that may be used: 0.8 unless said otherwise. */
  readonly threshold?: number
  /** Never more than this, however large the window is (`conversation.max_tokens`). */
  readonly maxTokens?: number
  /** Tokens kept free for the answer; 0 unless said otherwise. */
  readonly reserveOutput?: number
  /** The newest messages that are kept whole if they fit; 10 unless said otherwise. */
  readonly keepRecent?: number
  /** At most so many messages of what was said; the newest question and the last step stay in any case. */
  readonly maxMessages?: number
  /** At most so many characters of what was said; media have none. */
  readonly maxChars?: number
}

/** What stands before the messages, and is budgeted before them. */
export interface Pinned {
  readonly system?: string | null
  /** A summary of what lies before, and the last message it covers. */
  readonly summary?: { readonly text: string; readonly last: MessageId } | null
  /** Further system texts for this one call: a digest of earlier conversations, say. */
  readonly notes?: readonly string[]
  /** Tokens that something else of the request takes: the tools' descriptions. */
  readonly overhead?: number
  /** Messages of the path that lie before those given, and that no summary stands for. */
  readonly older?: number
}

/** Why messages of the path are not in the context. */
export type LeftReason = 'window' | 'max_messages' | 'max_chars' | 'summarised' | 'no_question'

export interface LeftOut {
  readonly reason: LeftReason
  readonly messages: number
  readonly tokens: number
}

/** Words of a kept message that had to be cut so that the newest question fits. */
export interface CutMessage {
  readonly id: MessageId
  readonly tokensBefore: number
  readonly tokensAfter: number
}

/** A context for one call, and what became of the rest. */
export interface Fitted {
  /** System prompt, then notes, summary or notice, then what was said, oldest first. */
  readonly messages: readonly ContextMessage[]
  readonly left: readonly LeftOut[]
  readonly cut: readonly CutMessage[]
  /** Tokens by part; `total` is their sum, `budget` what was allowed. */
  readonly tokens: {
    readonly system: number
    readonly notes: number
    readonly summary: number
    readonly notice: number
    readonly overhead: number
    readonly messages: number
    readonly total: number
    readonly budget: number
  }
}
