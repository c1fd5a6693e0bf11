import type { ConversationId } from '../core/ids.ts'

/** The result of a dispatch, as it is stored and returned. The fields have the names of the origin
 *  document. */
export interface DispatchResult {
  /** The id of the task. */
  readonly task_id: string
  /** The number of the dispatch. */
  readonly dispatch: number
  /** The worker that ran it. */
  readonly worker_id: string
  /** The agent that answered. */
  readonly agent_id: string
  /** The conversation of the task. Null if its project stores none. */
  readonly conversation_id: ConversationId | null
  /** The last answer of the agent. Empty if there is none. */
  readonly response: string
  /** Tokens that the provider has charged for this dispatch. */
  readonly tokens_used: number
  /** When it ended, in ISO 8601. */
  readonly completed_at: string
  /** False if it failed or was cancelled. */
  readonly success: boolean
  /** Why it failed. Absent if it did not. */
  readonly error?: string
  /** False if a part of the answer could not be stored yet. */
  readonly saved: boolean
}
