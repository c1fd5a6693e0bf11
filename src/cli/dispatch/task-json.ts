import type { Dispatch, Task } from '../../core/task.ts'

/** A task as `--json` prints it. */
export function taskJson(task: Task) {
  return {
    id: task.id,
    project: task.project,
    description: task.description,
    context: task.context,
    status: task.status,
    dispatch: task.current,
    dispatches: task.dispatches,
    conversation_id: task.conversationId,
    parent: task.parent,
    metadata: task.metadata,
    created_at: task.createdAt.toISOString(),
    updated_at: task.updatedAt.toISOString(),
  }
}

/** A dispatch as `--json` prints it. */
export function dispatchJson(dispatch: Dispatch) {
  return {
    n: dispatch.n,
    words: dispatch.words,
    status: dispatch.status,
    attempts: dispatch.attempts,
    deaths: dispatch.deaths,
    worker: dispatch.worker,
    lease_until: iso(dispatch.leaseUntil),
    cancel_requested: dispatch.cancelRequested,
    conversation_id: dispatch.conversationId,
    result: dispatch.result,
    error: dispatch.error,
    created_at: dispatch.createdAt.toISOString(),
    queued_at: iso(dispatch.queuedAt),
    started_at: iso(dispatch.startedAt),
    ended_at: iso(dispatch.endedAt),
  }
}

function iso(date: Date | null): string | null {
  return date?.toISOString() ?? null
}
