import type { ConversationId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Dispatch, Task } from '../../core/task.ts'
import type { DispatchRecord, TaskRecord } from '../../core/task-record.ts'
import { dateOrNull, holderFromText } from './row-to-value.ts'
import type { DispatchRow, TaskRow } from './task-rows.ts'

export function taskFromRow(row: TaskRow): Task {
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
    metadata: row.metadata === '{}' ? {} : (JSON.parse(row.metadata) as JsonObject),
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  }
}

export function dispatchFromRow(row: DispatchRow): Dispatch {
  const isRunning = row.dispatch_status === 'running'
  return {
    task: row.task,
    n: row.n,
    words: row.words,
    status: row.dispatch_status as Dispatch['status'],
    attempts: row.attempts,
    deaths: row.deaths,
    holder: isRunning ? holderFromText(row.holder) : null,
    worker: row.worker,
    leaseUntil: isRunning ? dateOrNull(row.lease_until) : null,
    cancelRequested: row.cancel_requested === 1,
    conversationId: row.dispatch_conversation as ConversationId | null,
    result: row.result === null ? null : (JSON.parse(row.result) as JsonObject),
    error: row.error,
    createdAt: new Date(row.dispatched_at),
    queuedAt: dateOrNull(row.queued_at),
    startedAt: dateOrNull(row.started_at),
    endedAt: dateOrNull(row.ended_at),
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
    metadata: JSON.parse(row.metadata) as JsonObject,
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
    result: row.result === null ? null : (JSON.parse(row.result) as JsonObject),
    error: row.error,
    createdAt: row.dispatched_at,
    queuedAt: row.queued_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
  }
}
