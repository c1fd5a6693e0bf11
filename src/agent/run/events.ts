import type { CutMessage, Fitted, LeftOut } from '../../context/fit/window.ts'
import type { ToolCallBlock } from '../../core/block.ts'
import type { BranchRef } from '../../core/branch.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { Json } from '../../core/json.ts'
import type { NewMessage } from '../../core/message.ts'
import type { Finish } from '../../core/model.ts'
import type { Usage } from '../../core/turn.ts'
import type { Trouble, TurnReport } from '../../recorder/recording.ts'

/** An event of a run. */
export type AgentEvent =
  /** The message of the user is stored, or queued, and the model will be called next. */
  | {
      readonly type: 'started'
      readonly turn: string
      readonly branch: BranchRef | null
      /** True if the turn is on a new sibling branch, because another turn held the given one. */
      readonly forked: boolean
    }
  /** An interrupted turn continues. `run` are the calls that had not started, or that are repeatable. The
   *  outcome of `unknown` is unknown, so they are not run again. */
  | {
      readonly type: 'resumed'
      readonly at: 'question' | 'results' | 'answer'
      readonly run: readonly ToolCallBlock[]
      readonly unknown: readonly ToolCallBlock[]
    }
  /** How an agent of another program got to know the conversation: see docs/acp.md. */
  | {
      readonly type: 'memory'
      readonly outcome: 'resumed' | 'loaded' | 'completed' | 'injected' | 'fresh'
      /** How many messages were injected into its prompt. */
      readonly injected: number
      /** How many earlier messages were not. */
      readonly untold: number
      /** Attempts that failed before. */
      readonly failed: readonly { readonly tier: 'resume' | 'load'; readonly message: string }[]
    }
  /** The plan of an agent of another program, in its own format. */
  | { readonly type: 'plan'; readonly entries: Json }
  /** An agent of another program asks for a permission; the answer is pending. */
  | { readonly type: 'asking'; readonly title: string }
  /** The answer to it: the agent's own word for the choice, and whether it allows; null without a choice. */
  | {
      readonly type: 'asked'
      readonly title: string
      readonly choice: string | null
      readonly isAllowed: boolean
    }
  /** The context of a call, before each call. */
  | {
      readonly type: 'context'
      readonly step: number
      readonly tokens: Fitted['tokens']
      readonly left: readonly LeftOut[]
      /** How many messages before those were not read and are not covered by a summary. */
      readonly older: number
      readonly cut: readonly CutMessage[]
    }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string }
  | { readonly type: 'tool_started'; readonly callId: string; readonly name: string; readonly input: Json }
  | {
      readonly type: 'tool_ended'
      readonly callId: string
      readonly name: string
      readonly output: Json
      readonly isError: boolean
    }
  /** A call of the model has ended, and its answer is stored or queued. */
  | {
      readonly type: 'answered'
      readonly step: number
      readonly message: MessageId | null
      readonly finish: Finish
      readonly usage: Usage
    }
  /** Earlier conversations were searched for this one: `found` if a digest of them is sent to the model,
   *  `failed` if the search failed. */
  | { readonly type: 'recalled'; readonly outcome: 'found' | 'nothing' | 'failed'; readonly error?: unknown }
  /** A summary covers older messages now; `extractive` if it is made of quotations because the model
   *  failed. */
  | {
      readonly type: 'summary'
      readonly outcome: 'made' | 'extractive' | 'reused' | 'busy'
      readonly messages: number
    }
  /** The provider has refused the context for its length; a smaller one follows. */
  | { readonly type: 'shrunk'; readonly attempt: number; readonly limit: number }
  /** Storage fails; the run continues. */
  | { readonly type: 'trouble'; readonly trouble: Trouble }
  /** An event of a subagent. */
  | {
      readonly type: 'subagent'
      readonly name: string
      readonly conversationId: ConversationId | null
      readonly event: AgentEvent
    }
  | { readonly type: 'ended'; readonly reply: Reply }

/** The result of a run. */
export interface Reply {
  /** The text of the last answer. */
  readonly text: string
  readonly status: 'complete' | 'interrupted'
  /** Why it ended: the model's finish reason, `steps` if it reached the limit of steps, or `aborted`. */
  readonly stop: Finish | 'steps' | 'aborted'
  readonly steps: number
  /** The usage of all model calls of this turn, including subagents. */
  readonly usage: Usage
  readonly turn: string
  readonly branch: BranchRef | null
  /** The newest stored message. */
  readonly head: MessageId | null
  /** True if everything is stored, or if there is no store; otherwise `unsaved` has the rest. */
  readonly saved: boolean
  readonly unsaved: readonly NewMessage[]
  /** Present if messages still wait: they stay queued, are part of the next context, and are stored when the
   *  store is back. Resolves then. */
  readonly whenSaved?: Promise<TurnReport>
}
