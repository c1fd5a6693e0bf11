import type { CutMessage, Fitted, LeftOut } from '../context/fit/window.ts'
import type { ToolCallBlock } from '../core/block.ts'
import type { BranchRef } from '../core/branch.ts'
import type { ConversationId, MessageId } from '../core/ids.ts'
import type { Json } from '../core/json.ts'
import type { NewMessage } from '../core/message.ts'
import type { Finish } from '../core/model.ts'
import type { Usage } from '../core/turn.ts'
import type { Trouble, TurnReport } from '../recorder/recording.ts'

/** What a run tells while it goes on. */
export type AgentEvent =
  /** The person's words are kept, and the model will be asked next. */
  | {
      readonly type: 'started'
      readonly turn: string
      readonly branch: BranchRef | null
      /** True if it went beside the branch that was named, because somebody else was there. */
      readonly forked: boolean
    }
  /** An interrupted turn goes on: `run` are the calls that nobody had started, or that may be run again; what
   *  became of `unknown` nobody knows, so they are not. */
  | {
      readonly type: 'resumed'
      readonly at: 'question' | 'results' | 'answer'
      readonly run: readonly ToolCallBlock[]
      readonly unknown: readonly ToolCallBlock[]
    }
  /** How an agent of another program came to know the conversation: see docs/acp.md. */
  | {
      readonly type: 'memory'
      readonly outcome: 'resumed' | 'loaded' | 'completed' | 'injected' | 'fresh'
      /** Messages that it was told. */
      readonly injected: number
      /** Messages before those that it was not. */
      readonly untold: number
      /** Ways that were tried before, and failed. */
      readonly failed: readonly { readonly tier: 'resume' | 'load'; readonly message: string }[]
    }
  /** What an agent of another program plans to do, in its own words. */
  | { readonly type: 'plan'; readonly entries: Json }
  /** An agent of another program wants to be allowed something, and somebody is being asked. */
  | { readonly type: 'asking'; readonly title: string }
  /** What came of it: the agent's own word for it, and whether that allows it; null if nobody chose. */
  | {
      readonly type: 'asked'
      readonly title: string
      readonly choice: string | null
      readonly isAllowed: boolean
    }
  /** What the model is given: sent before each call. */
  | {
      readonly type: 'context'
      readonly step: number
      readonly tokens: Fitted['tokens']
      readonly left: readonly LeftOut[]
      /** Messages that lie even before those, were not read, and that no summary stands for. */
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
  /** A model call has ended and its answer is kept. */
  | {
      readonly type: 'answered'
      readonly step: number
      readonly message: MessageId | null
      readonly finish: Finish
      readonly usage: Usage
    }
  /** Earlier conversations were looked through for this one: `found` if a digest of them is sent along,
   *  `failed` if they could not be searched. */
  | { readonly type: 'recalled'; readonly outcome: 'found' | 'nothing' | 'failed'; readonly error?: unknown }
  /** Older messages are covered by a summary now; `extractive` if no model could make one. */
  | {
      readonly type: 'summary'
      readonly outcome: 'made' | 'extractive' | 'reused' | 'busy'
      readonly messages: number
    }
  /** The provider refused the context for its length; a smaller one is tried. */
  | { readonly type: 'shrunk'; readonly attempt: number; readonly limit: number }
  /** The storage fails; the run goes on. */
  | { readonly type: 'trouble'; readonly trouble: Trouble }
  /** Something a subagent tells. */
  | {
      readonly type: 'subagent'
      readonly name: string
      readonly conversationId: ConversationId | null
      readonly event: AgentEvent
    }
  | { readonly type: 'ended'; readonly reply: Reply }

/** How a run ended. */
export interface Reply {
  /** The words of the last answer. */
  readonly text: string
  readonly status: 'complete' | 'interrupted'
  /** Why it ended: as the model said, because the steps were used up, or because it was aborted. */
  readonly stop: Finish | 'steps' | 'aborted'
  readonly steps: number
  /** What models charged for this turn, subagents included. */
  readonly usage: Usage
  readonly turn: string
  readonly branch: BranchRef | null
  /** The newest stored message. */
  readonly head: MessageId | null
  /** True if everything is stored (or nothing was to be); otherwise `unsaved` holds what is not. */
  readonly saved: boolean
  readonly unsaved: readonly NewMessage[]
  /** Present if messages still wait: they stay queued, are part of the next context, and are stored when the
   *  store is back. Resolves then. */
  readonly whenSaved?: Promise<TurnReport>
}
