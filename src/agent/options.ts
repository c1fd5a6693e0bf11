import type { CountTokens, Window } from '../context/fit/window.ts'
import type { NewMessage } from '../core/message.ts'
import type { Model } from '../core/model.ts'
import type { Searcher } from '../core/ports.ts'
import type { BeginTurn, RecordStore } from '../recorder/recording.ts'
import type { Tools } from './tool.ts'

/** What an agent needs of a store. */
export type AgentStore = RecordStore & Searcher

export interface AgentOptions {
  readonly model: Model
  /** Where everything is kept. The agent borrows it: whoever opened it closes it. Without one it remembers for
   *  as long as it lives. */
  readonly store?: AgentStore
  readonly system?: string
  readonly tools?: Tools
  /** How much the model may be given. The limit is what is known of the model, unless it is given here. */
  readonly window?: Partial<Window>
  /** What happens to what no longer fits: it is left out (`sliding_window`, default), or a summary stands for it. */
  readonly strategy?: 'sliding_window' | 'summarization'
  /** Who makes the summaries; the agent's own model unless given. */
  readonly summarizer?: Model
  /** Begins new conversations with a digest of earlier ones that have to do with the first words. It is sent, and
   *  never stored as said. */
  readonly recall?: boolean
  /** Counts tokens exactly; characters / 4 unless given. */
  readonly count?: CountTokens
  /** Model calls a turn may take; 50 unless said otherwise. */
  readonly maxSteps?: number
  /** Tokens an answer may have. */
  readonly maxOutput?: number
  /** Characters from which on the model is shown only the beginning of a tool result; 8,000 unless said otherwise. */
  readonly largeResult?: number
  /** `live` (default) keeps each step as it ends, `at_once` the whole turn in one transaction at its end: then a
   *  crash in the middle leaves nothing of it, and nothing to resume. */
  readonly mode?: NonNullable<BeginTurn['mode']>
  /** What every conversation begins with, where there is no store. */
  readonly history?: readonly NewMessage[]
}

export interface SendOptions {
  /** Names the turn: sent twice with the same words, it is stored once. */
  readonly key?: string
  /** Where another process is in the middle of a turn: wait for it (default), throw BusyError, or go on beside it. */
  readonly onBusy?: NonNullable<BeginTurn['onBusy']>
  readonly signal?: AbortSignal
}
