import type { AgentEvent } from '../agent/run/events.ts'
import type { SweepReceipt } from '../core/removal.ts'
import type { Dispatch, Task } from '../core/task.ts'
import type { DispatchResult } from './dispatch-result.ts'

/** What a dispatcher and a worker report while they work. For logs, metrics and progress. */
export type DispatchEvent =
  | {
      /** A worker has claimed a dispatch. */
      readonly type: 'started'
      /** The task. */
      readonly task: Task
      /** The dispatch, running. */
      readonly dispatch: Dispatch
      /** How long it was in the queue. */
      readonly queuedMs: number
    }
  | {
      /** The agent reports progress. */
      readonly type: 'agent'
      /** The task. */
      readonly task: Task
      /** What it reports. */
      readonly event: AgentEvent
    }
  | {
      /** A dispatch has ended. */
      readonly type: 'ended'
      /** The task. */
      readonly task: Task
      /** The dispatch with its final state. */
      readonly dispatch: Dispatch
      /** What it returned. */
      readonly result: DispatchResult
      /** How long it ran. */
      readonly ranMs: number
      /** How long it took until the first word of the answer. Null without an answer. */
      readonly firstWordMs: number | null
    }
  | {
      /** The worker stops and has given the dispatch back. */
      readonly type: 'released'
      /** The task. */
      readonly task: Task
      /** The number of the dispatch. */
      readonly n: number
    }
  | {
      /** Another worker has taken the dispatch, because this one did not renew its claim in time. */
      readonly type: 'lost'
      /** The task. */
      readonly task: Task
      /** The number of the dispatch. */
      readonly n: number
    }
  | {
      /** The claim of a dead worker was ended. */
      readonly type: 'reclaimed'
      /** The dispatch as it is now: queued, failed or cancelled. */
      readonly dispatch: Dispatch
    }
  | {
      /** Expired conversations were moved to the trash, and old ones purged. */
      readonly type: 'swept'
      /** What was moved and purged. */
      readonly receipt: SweepReceipt
    }
  | {
      /** An operation of the store failed. It is tried again. */
      readonly type: 'trouble'
      /** What was tried, for people. */
      readonly what: string
      /** The error. */
      readonly error: unknown
    }
