import type { ConversationId } from './ids.ts'
import type { JsonObject } from './json.ts'

/** A task with its dispatches. It belongs to no conversation: its conversations name it. A claim stays where
 *  it is: a running dispatch is queued in the store that it is written to. */
export interface TaskRecord {
  readonly kind: 'task'
  /** Unique in the tenant. A task of the target with the same id is left unchanged. */
  readonly id: string
  /** The project of the task, or null. */
  readonly project: string | null
  /** What to do. */
  readonly description: string
  /** More about the task, or null. */
  readonly context: string | null
  /** The task that filed it, or null. */
  readonly parent: string | null
  /** The caller's own data. */
  readonly metadata: JsonObject
  /** The newest conversation of the task, or null. */
  readonly conversationId: ConversationId | null
  /** In order of their numbers, which begin with 1 and have no gap. At least one. */
  readonly dispatches: readonly DispatchRecord[]
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** When its state last changed, in milliseconds since 1970. */
  readonly updatedAt: number
}

/** A dispatch of a task. Times are in milliseconds since 1970. */
export interface DispatchRecord {
  /** What the worker is told. Null: the description and the context of the task. */
  readonly words: string | null
  /** At most one is queued; those after it wait. */
  readonly status: 'waiting' | 'queued' | 'done' | 'failed' | 'cancelled'
  /** How often it was claimed. */
  readonly attempts: number
  /** How many of the last claims in a row ended with the death of their worker. */
  readonly deaths: number
  /** The worker that claimed it last, or null. */
  readonly worker: string | null
  /** The conversation that it ran in, or null. */
  readonly conversationId: ConversationId | null
  /** What it returned, or null. */
  readonly result: JsonObject | null
  /** Why it failed, or null. */
  readonly error: string | null
  /** When it was ordered. */
  readonly createdAt: number
  /** Since when it could be claimed, or null. */
  readonly queuedAt: number | null
  /** When it was last claimed, or null. */
  readonly startedAt: number | null
  /** When it ended, or null. */
  readonly endedAt: number | null
}
