import type { CutMessage, Fitted, LeftOut } from '../../context/fit/window.ts'
import type { ApprovalRequest, StoredApproval } from '../../core/approval.ts'
import type { ToolCallBlock } from '../../core/block.ts'
import type { BranchRef } from '../../core/branch.ts'
import type { Holder } from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { Json } from '../../core/json.ts'
import type { NewMessage } from '../../core/message.ts'
import type { Finish, IgnoredOption, ModelRetry } from '../../core/model.ts'
import type { Usage } from '../../core/turn.ts'
import type { Trouble, TurnReport } from '../../recorder/recording.ts'

/** An event of a run. */
export type AgentEvent =
  /** The message of the user is stored, or queued, and the model will be called next. */
  | {
      readonly type: 'started'
      /** The key of the turn. */
      readonly turn: string
      /** The branch that the turn writes to. Null if there is no store. */
      readonly branch: BranchRef | null
      /** True if the turn is on a new sibling branch, because another turn held the given one. */
      readonly forked: boolean
    }
  /** The turn of another process holds the branch. This one begins after it. Again when the holder has
   *  changed or has renewed its lease. */
  | {
      readonly type: 'waiting'
      /** The process that holds the branch. */
      readonly holder: Holder | null
      /** The end of its lease: if the process has died, the wait ends then. */
      readonly until: Date | null
    }
  /** An interrupted turn continues. `run` are the calls that had not started, or that are repeatable. The
   *  outcome of `unknown` is unknown, so they are not run again. */
  | {
      readonly type: 'resumed'
      /** Where the turn was interrupted: before its answer, before the model had all results of its tools, or
       *  within an answer. */
      readonly at: 'question' | 'results' | 'answer'
      /** Calls that run now. */
      readonly run: readonly ToolCallBlock[]
      /** Calls that had started and are not repeatable. The model is told that their outcome is unknown. */
      readonly unknown: readonly ToolCallBlock[]
    }
  /** How an agent of another program got to know the conversation: see docs/acp.md. */
  | {
      readonly type: 'memory'
      /** The way that was used. `fresh`: there was nothing to know. */
      readonly outcome: 'resumed' | 'loaded' | 'completed' | 'injected' | 'fresh'
      /** How many messages were injected into its prompt. */
      readonly injected: number
      /** How many messages were left out. */
      readonly untold: number
      /** The file with the whole conversation that the agent was told of; null if there is none. */
      readonly transcript: string | null
      /** Attempts that failed before. */
      readonly failed: readonly { readonly tier: 'resume' | 'load'; readonly message: string }[]
    }
  /** The plan of the agent, in the format of the Agent Client Protocol. */
  | {
      readonly type: 'plan'
      /** A list of the entries, as the protocol defines them. */
      readonly entries: Json
    }
  /** An agent of another program has changed one of its settings, such as its mode. */
  | {
      readonly type: 'setting'
      /** The setting, with its new value. */
      readonly setting: {
        /** `mode`, `model`, or the agent's own id of an option. */
        readonly id: string
        /** For people. */
        readonly name: string
        /** The id of the value. */
        readonly value: string
      }
      /** Why a value that was chosen before could not be set again. Null if the agent has changed it. */
      readonly problem: string | null
    }
  /** A call needs an approval, and the answer is pending. The call has not started. */
  | {
      readonly type: 'asking'
      /** The action that needs the approval, in one line. */
      readonly title: string
      /** The call. Null if an agent of another program asks, which has its own form of requests. */
      readonly request: ApprovalRequest | null
    }
  /** The answer to it: the word for the choice, and whether it allows; null without a choice. */
  | {
      readonly type: 'asked'
      /** The title of the `asking` event. */
      readonly title: string
      /** The id of the call. Null if an agent of another program asked. */
      readonly callId: string | null
      /** The name of the chosen option. Null if none was chosen. */
      readonly choice: string | null
      /** False also if no option was chosen. */
      readonly isAllowed: boolean
    }
  /** The context of a call, before each call. */
  | {
      readonly type: 'context'
      /** The number of the call within the turn, from 1. */
      readonly step: number
      /** Tokens of each part, and the budget. */
      readonly tokens: Fitted['tokens']
      /** Messages that were left out, by reason. */
      readonly left: readonly LeftOut[]
      /** How many messages before those were not read and are not covered by a summary. */
      readonly older: number
      /** Messages that were shortened. */
      readonly cut: readonly CutMessage[]
    }
  | {
      readonly type: 'text'
      /** The next piece of the answer. */
      readonly text: string
    }
  | {
      readonly type: 'thinking'
      /** The next piece of the model's reasoning. */
      readonly text: string
    }
  | {
      readonly type: 'tool_started'
      /** Identifies the call. `tool_ended` has the same id. */
      readonly callId: string
      /** The name of the tool. */
      readonly name: string
      /** The arguments, as the model wrote them. */
      readonly input: Json
    }
  | {
      readonly type: 'tool_ended'
      /** The id of the `tool_started` event. */
      readonly callId: string
      /** The name of the tool. */
      readonly name: string
      /** The result, or the text of the error. */
      readonly output: Json
      /** True if the tool threw an error, refused its input or does not exist. */
      readonly isError: boolean
    }
  /** A call of the model has ended, and its answer is stored or queued. */
  | {
      readonly type: 'answered'
      /** The number of the call within the turn, from 1. */
      readonly step: number
      /** The id of the stored answer. Null if it is queued, or if there is no store. */
      readonly message: MessageId | null
      /** Why the answer ended. */
      readonly finish: Finish
      /** The usage of this call. */
      readonly usage: Usage
    }
  /** Earlier conversations were searched for this one: `found` if a digest of them is sent to the model,
   *  `failed` if the search failed. */
  | {
      readonly type: 'recalled'
      /** `nothing` if no earlier conversation is relevant. */
      readonly outcome: 'found' | 'nothing' | 'failed'
      /** The error of a search that failed. The turn continues without a digest. */
      readonly error?: unknown
    }
  /** A summary covers older messages now; `extractive` if it is made of quotations because the model
   *  failed. */
  | {
      readonly type: 'summary'
      /** `reused` if the summary existed already, `busy` if another process is writing it. */
      readonly outcome: 'made' | 'extractive' | 'reused' | 'busy'
      /** The number of messages that the summary covers. */
      readonly messages: number
    }
  /** A call has failed and will be repeated after a pause. `left` counts the remaining attempts. */
  | ({ readonly type: 'retrying' } & ModelRetry)
  /** The provider ignores or changes an option of the call. Once for each call. */
  | ({ readonly type: 'ignored' } & IgnoredOption)
  /** The provider has refused the context for its length; a smaller one follows. */
  | {
      readonly type: 'shrunk'
      /** The number of refusals so far, from 1. */
      readonly attempt: number
      /** The window that is assumed for the next attempt, in tokens. */
      readonly limit: number
    }
  /** Storage fails; the run continues. */
  | {
      readonly type: 'trouble'
      /** The failure, and what waits because of it. */
      readonly trouble: Trouble
    }
  /** An event of a subagent. */
  | {
      readonly type: 'subagent'
      /** The name of the subagent. */
      readonly name: string
      /** The conversation of the subagent. Null if it has no store. */
      readonly conversationId: ConversationId | null
      /** The event, as the subagent emitted it. */
      readonly event: AgentEvent
    }
  | {
      readonly type: 'ended'
      /** The result of the run. This event is the last one. */
      readonly reply: Reply
    }

/** A call that waits for an approval, and the id of the request in the store. */
export type PendingApproval = ApprovalRequest & Pick<StoredApproval, 'id'>

/** The result of a run. */
export interface Reply {
  /** The text of the last answer. */
  readonly text: string
  /** `interrupted` if the run was aborted, or if a call waits for an approval. A run that fails has no
   *  reply: it rejects. */
  readonly status: 'complete' | 'interrupted'
  /** Why it ended: the model's finish reason, `steps` if it reached the limit of steps, `approval` if calls
   *  wait for an approval, or `aborted`. */
  readonly stop: Finish | 'steps' | 'approval' | 'aborted'
  /** The calls that wait for an approval. Answer them with `store.answerApproval`, in any process, then
   *  resume the turn. */
  readonly approvals: readonly PendingApproval[]
  /** The number of model calls in this run. */
  readonly steps: number
  /** The usage of all model calls of this turn, including subagents. */
  readonly usage: Usage
  /** The key of the turn. */
  readonly turn: string
  /** The branch that was written to. Null if there is no store. */
  readonly branch: BranchRef | null
  /** The newest stored message. */
  readonly head: MessageId | null
  /** True if everything is stored, or if there is no store; otherwise `unsaved` has the rest. */
  readonly saved: boolean
  /** The messages that are not stored yet, oldest first. */
  readonly unsaved: readonly NewMessage[]
  /** Present if messages still wait: they stay queued, are part of the next context, and are stored when the
   *  store is back. Resolves then. */
  readonly whenSaved?: Promise<TurnReport>
}
