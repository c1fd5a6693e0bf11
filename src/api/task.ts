import type { DeletedTasks, Dispatch, DispatchOptions, ListTasks, NewTask, Task } from '../core/task.ts'
import type { deletedTasksSchema, dispatchSchema, JsonOf, taskSchema } from './schema/index.ts'
import type { DispatchRequestBody, ListTasksQuery, NewTaskBody } from './schema/request/index.ts'

/** A task as JSON. */
export type TaskJson = JsonOf<typeof taskSchema>

/** A dispatch as JSON. */
export type DispatchJson = JsonOf<typeof dispatchSchema>

/** The effects of deleting tasks as JSON. */
export type DeletedTasksJson = JsonOf<typeof deletedTasksSchema>

/** Maps a task to JSON. */
export function taskJson(task: Task): TaskJson {
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

/** Maps a dispatch to JSON. */
export function dispatchJson(dispatch: Dispatch): DispatchJson {
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

/** Maps the effects of deleting tasks to JSON. */
export function deletedTasksJson({ tasks, trashed }: DeletedTasks, message: string): DeletedTasksJson {
  return { success: true, message, tasks, trashed }
}

/** The task that a body describes. */
export function newTaskOf({ id, project, description, context, parent, metadata }: NewTaskBody): NewTask {
  return {
    description,
    ...(id !== undefined && { id }),
    ...(project !== undefined && { project }),
    ...(context !== undefined && { context }),
    ...(parent !== undefined && { parent }),
    ...(metadata !== undefined && { metadata }),
  }
}

/** The options of the dispatch that a body describes. */
export function dispatchOptionsOf({ words, n, on_busy }: DispatchRequestBody): DispatchOptions {
  return {
    ...(words !== undefined && { words }),
    ...(n !== undefined && { n }),
    ...(on_busy !== undefined && { onBusy: on_busy }),
  }
}

/** The list of tasks that the parameters describe. */
export function listTasksOf(query: ListTasksQuery): ListTasks {
  const { project, status, created_from, created_before, limit, after } = query
  return {
    ...(project !== undefined && { project }),
    ...(status !== undefined && { status }),
    ...(created_from !== undefined && { createdFrom: new Date(created_from) }),
    ...(created_before !== undefined && { createdBefore: new Date(created_before) }),
    ...(limit !== undefined && { limit }),
    ...(after !== undefined && { after }),
  }
}
