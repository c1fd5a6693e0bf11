import type { Finish } from '../core/model.ts'
import type { ProblemJson } from './problem.ts'
import type { UsageJson } from './usage.ts'

/** An event of a turn, as `POST …/turns` streams it. A newer service may send other types: ignore them. */
export type TurnEventJson =
  | {
      /** The prompt is stored, and the model is called next. */
      readonly type: 'started'
      /** The key of the turn. */
      readonly turn: string
      /** The conversation of the turn. */
      readonly conversation: string | null
      /** The branch that the turn writes to. */
      readonly branch: string | null
      /** True if the turn is on a new sibling branch. */
      readonly forked: boolean
    }
  | {
      /** An interrupted turn continues. */
      readonly type: 'resumed'
      /** Where it was interrupted. */
      readonly at: 'question' | 'results' | 'answer'
    }
  | {
      /** A piece of the answer, or of the model's reasoning. */
      readonly type: 'text' | 'thinking'
      /** The piece. */
      readonly text: string
    }
  | {
      /** A tool runs. */
      readonly type: 'tool_started'
      /** Identifies the call. */
      readonly call_id: string
      /** The name of the tool. */
      readonly name: string
      /** The arguments, as the model wrote them. */
      readonly input: unknown
    }
  | {
      /** A tool has ended. */
      readonly type: 'tool_ended'
      /** The id of the `tool_started` event. */
      readonly call_id: string
      /** The name of the tool. */
      readonly name: string
      /** The result, or the text of the error. */
      readonly output: unknown
      /** True if the tool failed. */
      readonly is_error: boolean
    }
  | {
      /** A call of the model has ended. */
      readonly type: 'answered'
      /** The number of the call within the turn, from 1. */
      readonly step: number
      /** The id of the stored answer. Null if it is queued. */
      readonly message: string | null
      /** Why the answer ended. */
      readonly finish: Finish
      /** The usage of this call. */
      readonly usage: UsageJson
    }
  | {
      /** A call of the model has failed and is repeated. */
      readonly type: 'retrying'
      /** Remaining attempts. */
      readonly left: number
    }
  | {
      /** Storage fails. The turn continues. */
      readonly type: 'trouble'
    }
  | {
      /** An event of a subagent. */
      readonly type: 'subagent'
      /** The name of the subagent. */
      readonly name: string
      /** Its conversation. */
      readonly conversation: string | null
      /** The event. */
      readonly event: TurnEventJson
    }
  | {
      /** The turn has ended. This event is the last one. */
      readonly type: 'ended'
      /** The key of the turn. */
      readonly turn: string
      /** The conversation of the turn. */
      readonly conversation: string | null
      /** The branch that was written to. */
      readonly branch: string | null
      /** `interrupted` if it was stopped. */
      readonly status: 'complete' | 'interrupted'
      /** Why it ended. */
      readonly stop: Finish | 'steps' | 'approval' | 'aborted'
      /** The calls that wait for an approval: their ids, for `answerApproval`, and the calls in one line. */
      readonly approvals: readonly { readonly id: string; readonly title: string }[]
      /** The text of the last answer. */
      readonly text: string
      /** The newest stored message. */
      readonly head: string | null
      /** The usage of the turn. */
      readonly usage: UsageJson
      /** False if messages wait because storage failed. */
      readonly saved: boolean
    }
  | {
      /** The turn has failed. This event is the last one. */
      readonly type: 'failed'
      /** Why. */
      readonly problem: ProblemJson
    }
