export interface TaskRow {
  readonly id: string
  readonly project: string | null
  readonly description: string
  readonly context: string | null
  readonly parent: string | null
  readonly metadata: string
  readonly status: string
  /** The number of the queued or running dispatch, otherwise of the last one. */
  readonly current: number
  readonly dispatches: number
  readonly conversation_id: string | null
  readonly created_at: number
  readonly updated_at: number
}

/** A dispatch. If it is queued or running, its state comes from the row of its task. */
export interface DispatchRow {
  readonly task: string
  readonly n: number
  readonly words: string | null
  readonly dispatch_status: string
  readonly attempts: number
  readonly deaths: number
  readonly holder: string | null
  readonly worker: string | null
  readonly lease_until: number | null
  readonly cancel_requested: number
  readonly dispatch_conversation: string | null
  readonly result: string | null
  readonly error: string | null
  readonly dispatched_at: number
  readonly queued_at: number | null
  readonly started_at: number | null
  readonly ended_at: number | null
}

/** A dispatch together with its task. */
export type QueueRow = TaskRow & DispatchRow
