import type { RecordOutcome } from '../../../core/record.ts'
import type { DispatchRecord, TaskRecord } from '../../../core/task-record.ts'
import { all, countChanges, first, type Program, run } from '../../engine/engine.ts'
import { dispatchRecordFromRow, taskRecordFromRow } from '../../engine/row-to-task.ts'
import { isFinal } from '../tasks/claim.ts'
import { added, present } from './record-write.ts'

/** Writes a task, unless the store has one with its id. */
export function* putTaskRecord(task: TaskRecord): Program<RecordOutcome> {
  const { id, dispatches, conversationId } = task
  const active = dispatches.findIndex(({ status }) => status === 'queued') + 1
  const current = active > 0 ? active : dispatches.length
  const state = dispatches[current - 1]!
  const changes = yield* countChanges('insertTaskRecord', {
    id,
    project: task.project,
    description: task.description,
    context: task.context,
    parent: task.parent,
    metadata: JSON.stringify(task.metadata),
    status: state.status,
    current,
    dispatches: dispatches.length,
    attempts: state.attempts,
    deaths: state.deaths,
    worker: state.worker,
    queued_at: state.queuedAt ?? state.createdAt,
    started_at: state.startedAt,
    conversation_id: conversationId,
    created_at: task.createdAt,
    updated_at: task.updatedAt,
  })
  if (changes === 0) return present
  for (const [i, dispatch] of dispatches.entries()) {
    yield* run('insertDispatchRecord', { id, n: i + 1, ...dispatchFields(dispatch) })
  }
  const [, number] = /^T-([1-9]\d{0,14})$/.exec(id) ?? []
  if (number !== undefined) yield* run('raiseTaskNumber', { value: Number(number) })
  return added
}

function dispatchFields(dispatch: DispatchRecord) {
  return {
    words: dispatch.words,
    status: dispatch.status === 'queued' ? 'active' : dispatch.status,
    attempts: dispatch.attempts,
    deaths: dispatch.deaths,
    worker: dispatch.worker,
    conversation_id: dispatch.conversationId,
    result: dispatch.result === null ? null : JSON.stringify(dispatch.result),
    error: dispatch.error,
    now: dispatch.createdAt,
    queued_at: isFinal(dispatch.status) ? dispatch.queuedAt : null,
    started_at: isFinal(dispatch.status) ? dispatch.startedAt : null,
    ended_at: dispatch.endedAt,
  }
}

/** The ids of a page of tasks. */
export function* taskIds(after: string, limit: number): Program<readonly string[]> {
  return (yield* all('taskIds', { after, limit })).map(({ id }) => id)
}

/** A task with all its dispatches, or null if it was deleted. */
export function* readTaskRecord(id: string): Program<TaskRecord | null> {
  const task = yield* first('taskById', { id })
  if (!task) return null
  const rows = yield* all('listDispatches', { id, after: 0, limit: 2 ** 31 - 1 })
  return taskRecordFromRow(task, rows.map(dispatchRecordFromRow))
}
