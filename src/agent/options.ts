import type { Calibration } from '../context/fit/calibrate.ts'
import type { CountTokens, Window } from '../context/fit/window.ts'
import type { ApprovalKeeper } from '../core/approval.ts'
import type { Searcher } from '../core/listing.ts'
import type { NewMessage } from '../core/message.ts'
import type { ModelOptions } from '../core/model.ts'
import type { BeginTurn, RecordStore } from '../recorder/recording.ts'
import type { AgentModel } from './agent-model.ts'
import type { ApprovalMemory, Approve } from './approval/approval.ts'
import type { AiSdkTool } from './tools/ai-sdk-tool.ts'
import type { AgentTool } from './tools/tool.ts'

/** The ports of a store that an agent needs. */
export type AgentStore = RecordStore & Searcher & ApprovalKeeper

/** How summaries are written. */
export interface Summarizer {
  /** The model that writes them. Default: the agent's own. */
  readonly model?: AgentModel
  /** What a summary must keep, in words for the model, in addition to ours: `Keep every order number.` */
  readonly instructions: string
}

/** What an agent is made of, and the options of its model calls. */
export interface AgentOptions extends ModelOptions {
  /** Answers every turn: a model of `openModel`, a model of the AI SDK, or a name for `openModel`, such as
   *  `openai/gpt-5`. */
  readonly model: AgentModel
  /** Where conversations are stored. The agent borrows it; the opener closes it. Without a store, the agent
   *  keeps its conversations in memory. */
  readonly store?: AgentStore
  /** The system prompt. It is stored with a conversation, not as a message. Default: none. */
  readonly system?: string
  /** The tools that the model may call, by name: of `tool`, or of the AI SDK. A name has 1 to 64 letters,
   *  digits, `_` or `-`. */
  readonly tools?: Readonly<Record<string, AgentTool | AiSdkTool>>
  /** Decides whether a call may run, before it runs. It is asked for the calls of all tools that are not
   *  read-only, unless a tool says otherwise with `needsApproval`. Default: calls run without asking, and
   *  those of tools with `needsApproval` wait in the store for an answer (`store.answerApproval`); without a
   *  store they are denied. */
  readonly approve?: Approve
  /** Remembers answers that hold for longer than one call. Default: as long as the agent exists. */
  readonly approvals?: ApprovalMemory
  /** How much the model may be given. Default: 0.8 of the known window of the model, minus `maxOutput`. */
  readonly window?: Partial<Window>
  /** The provider's counts, as far as they are known. The agent updates it with every answer; agents of the
   *  same model can share it. Default: nothing is known. */
  readonly calibration?: { current: Calibration }
  /** What to do with older messages that do not fit: leave them out (`sliding_window`, the default), or
   *  summarize them. */
  readonly strategy?: 'sliding_window' | 'summarization'
  /** The model that writes summaries, or a summarizer with instructions of its own. Default: the agent's
   *  own model. */
  readonly summarizer?: AgentModel | Summarizer
  /** Sends a digest of earlier conversations that are relevant to the first message, or to a query. It is not
   *  stored as a message. */
  readonly recall?: boolean | { readonly query: string }
  /** Names the author of each message of the user whose `metadata.author` has an `id` and a `name`, in a line
   *  before the words. The line is part of the model call and not stored. Default: false. */
  readonly speakers?: boolean
  /** Counts tokens. Default: characters / 4. */
  readonly count?: CountTokens
  /** Most model calls of a turn. Default: 50. */
  readonly maxSteps?: number
  /** The model gets only the beginning of tool results with more characters than this. Default: 8,000. */
  readonly largeResult?: number
  /** `live` (default) stores each step as it ends, `at_once` the whole turn in one transaction at its end: a
   *  crash before that leaves nothing of the turn, and nothing to resume. */
  readonly mode?: NonNullable<BeginTurn['mode']>
  /** The beginning of every conversation, if there is no store. */
  readonly history?: readonly NewMessage[]
}

/** How one turn runs. The options of its model calls take precedence over those of the agent. */
export interface SendOptions extends ModelOptions {
  /** Names the turn: sent twice with the same message, it is stored once. */
  readonly key?: string
  /** If another process has a turn in progress: wait for it (default), throw BusyError, or continue on a new
   *  sibling branch. */
  readonly onBusy?: NonNullable<BeginTurn['onBusy']>
  /** Decides about the calls of this turn, instead of the agent's `approve`. */
  readonly approve?: Approve
  /** Stops the turn. Everything up to then is stored, and the reply has the status `interrupted`. */
  readonly signal?: AbortSignal
}

const modelFields: Readonly<Record<keyof ModelOptions, true>> = {
  maxOutput: true,
  temperature: true,
  topP: true,
  stop: true,
  seed: true,
  providerOptions: true,
}

/** The names of the options, to refuse others. */
export const agentFields: Readonly<Record<keyof AgentOptions, true>> = {
  ...modelFields,
  model: true,
  store: true,
  system: true,
  tools: true,
  approve: true,
  approvals: true,
  window: true,
  calibration: true,
  strategy: true,
  summarizer: true,
  recall: true,
  speakers: true,
  count: true,
  maxSteps: true,
  largeResult: true,
  mode: true,
  history: true,
}

/** The names of the options of a turn, to refuse others. */
export const sendFields: Readonly<Record<keyof SendOptions, true>> = {
  ...modelFields,
  key: true,
  onBusy: true,
  approve: true,
  signal: true,
}
