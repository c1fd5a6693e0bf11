import type { Conv, EventRow, ListedRow } from './rows.ts'
import type { TaskRow } from './task-rows.ts'

interface InConv {
  readonly conv: Conv
}
interface EventParams extends InConv {
  readonly after: number
  readonly types: readonly string[] | null
  readonly limit: number
}

/** Statements of trace events, and of the approvals that are stored as such. */
export interface EventStatements {
  insertEvent: [InConv & { n: number; type: string; at: number; data: string }, never]
  setNextEvent: [InConv & { next_event: number }, never]
  setEventData: [InConv & { n: number; data: string }, never]
  events: [EventParams, EventRow]
  /** The events before one, newest first. */
  eventsDown: [Omit<EventParams, 'after'> & { below: number }, EventRow]
  /** Requests for approvals in conversations that are not in the trash, newest first. */
  approvalRequests: [{ limit: number }, EventRow & { conversation_id: string; conv: Conv }]
  /** Those of one conversation, newest first. */
  approvalRequestsOf: [InConv & { limit: number }, EventRow]
  /** The answers, oldest first. */
  approvalAnswersOf: [InConv, EventRow]
}

/** Statements that find changes of other processes. */
export interface FollowStatements {
  /** The versions of conversations, and whether a turn is open whose lease has not expired. */
  followStates: [{ ids: readonly string[]; now: number }, { id: string; version: number; streaming: number }]
  /** The conversations with activity at a time or later, newest first. */
  recentActivity: [
    { since: number; limit: number },
    { id: string; updated_at: number; next_seq: number; title: string | null },
  ]
  listedByIds: [{ ids: readonly string[] }, ListedRow]
  /** The conversations after one of them, by time of their last activity and id. */
  listedFrom: [{ after_time: number; after_id: string; limit: number }, ListedRow]
  /** Tasks that were submitted, queued again or active since a time, those that run, and known ones. There is
   *  no index of the last change: a task that ended is found through its conversation, or because it is
   *  known. */
  recentTasks: [
    { since: number; queued_since: number; limit: number; known: readonly string[] },
    Pick<TaskRow, 'id' | 'status' | 'current' | 'dispatches' | 'conversation_id' | 'updated_at'>,
  ]
  tasksByIds: [{ ids: readonly string[] }, TaskRow]
}
