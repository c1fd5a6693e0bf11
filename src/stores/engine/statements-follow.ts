import type { ListedRow } from './rows.ts'
import type { TaskRow } from './task-rows.ts'

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
