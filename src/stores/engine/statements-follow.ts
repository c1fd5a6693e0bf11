import type { ListedRow } from './rows.ts'

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
}
