import type { ConversationId } from '../../core/ids.ts'
import type { Dispatch, Task } from '../../core/task.ts'
import type { DispatchRecord, TaskRecord } from '../../core/task-record.ts'
import { holderFromText } from './row-to-value.ts'
import { storedDate, storedDateOrNull, storedObject } from './stored-fields.ts'
import type { DispatchRow, TaskRow } from './task-rows.ts'

export function taskFromRow(row: TaskRow): Task {
  const owner = nameOfTask(row.id)
  return {
    id: row.id,
    project: row.project,
    description: row.description,
    context: row.context,
    status: row.status as Task['status'],
    current: row.current,
    dispatches: row.dispatches,
    conversationId: row.conversation_id as ConversationId | null,
    parent: row.parent,
    metadata: metadataOf(row),
    createdAt: storedDate(row.created_at, 'creation time', owner),
    updatedAt: storedDate(row.updated_at, 'time of the last change', owner),
  }
}

export function dispatchFromRow(row: DispatchRow): Dispatch {
  const isRunning = row.dispatch_status === 'running'
  const owner = dispatchName(row)
  return {
    task: row.task,
    n: row.n,
    words: row.words,
    status: row.dispatch_status as Dispatch['status'],
    attempts: row.attempts,
    deaths: row.deaths,
    holder: isRunning ? holderFromText(row.holder, owner) : null,
    worker: row.worker,
    leaseUntil: isRunning ? storedDateOrNull(row.lease_until, 'lease', owner) : null,
    cancelRequested: row.cancel_requested === 1,
    conversationId: row.dispatch_conversation as ConversationId | null,
    result: resultOf(row),
    error: row.error,
    createdAt: storedDate(row.dispatched_at, 'creation time', owner),
    queuedAt: storedDateOrNull(row.queued_at, 'time in the queue', owner),
    startedAt: storedDateOrNull(row.started_at, 'start', owner),
    endedAt: storedDateOrNull(row.ended_at, 'end', owner),
  }
}

export function taskRecordFromRow(row: TaskRow, dispatches: readonly DispatchRecord[]): TaskRecord {
  return {
    kind: 'task',
    id: row.id,
    project: row.project,
    description: row.description,
    context: row.context,
    parent: row.parent,
    metadata: metadataOf(row),
    conversationId: row.conversation_id as ConversationId | null,
    dispatches,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** A claim is not part of a record. */
export function dispatchRecordFromRow(row: DispatchRow): DispatchRecord {
  const status = row.dispatch_status === 'running' ? 'queued' : row.dispatch_status
  return {
    words: row.words,
    status: status as DispatchRecord['status'],
    attempts: row.attempts,
    deaths: row.deaths,
    worker: row.worker,
    conversationId: row.dispatch_conversation as ConversationId | null,
    result: resultOf(row),
    error: row.error,
    createdAt: row.dispatched_at,
    queuedAt: row.queued_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
  }
}

function metadataOf({ id, metadata }: TaskRow): Task['metadata'] {
  return metadata === '{}' ? {} : storedObject(metadata, 'metadata', nameOfTask(id))
}

function resultOf(row: DispatchRow): Dispatch['result'] {
  return row.result === null ? null : storedObject(row.result, 'result', dispatchName(row))
}

/** As errors name a task. */
export function nameOfTask(id: string): string {
  return `task ${JSON.stringify(id)}`
}

function dispatchName({ task, n }: DispatchRow): string {
  return `dispatch ${n} of ${nameOfTask(task)}`
}
