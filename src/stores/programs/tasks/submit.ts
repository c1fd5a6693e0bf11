import { type BusyError, InvalidError, KeyReusedError, NotFoundError } from '../../../core/errors.ts'
import type { Dispatch, DispatchOptions, NewTask, Task } from '../../../core/task.ts'
import { countChanges, first, type Program, run } from '../../engine/engine.ts'
import { dispatchFromRow, nameOfTask, taskFromRow } from '../../engine/row-to-task.ts'
import { heldByAnother } from '../../engine/row-to-value.ts'
import type { DispatchRow, TaskRow } from '../../engine/task-rows.ts'

/** Stores a task with its first dispatch. With an id of its own, the task may be stored already. */
export function* submitTask(task: NewTask, now: number): Program<Task> {
  const { id } = task
  const fields = {
    project: task.project ?? null,
    description: task.description,
    context: task.context ?? null,
    parent: task.parent ?? null,
    metadata: JSON.stringify(task.metadata ?? {}),
  }
  if (id !== undefined) return (yield* insert({ id, ...fields }, now)) ?? (yield* sameTask(id, fields))
  for (;;) {
    const { value } = (yield* first('nextTaskNumber', {}))!
    // A caller may have used the id itself.
    const inserted = yield* insert({ id: `T-${value}`, ...fields }, now)
    if (inserted) return inserted
  }
}

type TaskFields = Pick<TaskRow, 'project' | 'description' | 'context' | 'parent' | 'metadata'>

/** Null if the id is taken. */
function* insert(task: TaskFields & { readonly id: string }, now: number): Program<Task | null> {
  if ((yield* countChanges('insertTask', { ...task, now })) === 0) return null
  yield* run('insertDispatch', { id: task.id, n: 1, words: null, status: 'active', now })
  const state = { status: 'queued', current: 1, dispatches: 1, conversation_id: null }
  return taskFromRow({ ...task, ...state, created_at: now, updated_at: now })
}

function* sameTask(id: string, fields: TaskFields): Program<Task> {
  const stored = yield* needTask(id)
  for (const name of ['project', 'description', 'context', 'parent', 'metadata'] as const) {
    if (stored[name] !== fields[name])
      throw new KeyReusedError(id, `there is a task ${JSON.stringify(id)} with another ${name}`)
  }
  return taskFromRow(stored)
}

/** Adds a dispatch to a task, or returns the one with the number that was asked for. */
export function* dispatchTask(id: string, options: DispatchOptions, now: number): Program<Dispatch> {
  const { words = null, n, onBusy = 'wait' } = options
  const task = yield* first('lockTaskById', { id })
  if (!task) throw new NotFoundError('task', id)
  if (n !== undefined && n <= task.dispatches) return yield* sameDispatch(id, n, words)
  const next = task.dispatches + 1
  if (n !== undefined && n > next)
    throw new InvalidError('n', `the next dispatch of task ${JSON.stringify(id)} has number ${next}`)
  const isBusy = task.status === 'queued' || task.status === 'running'
  if (isBusy && onBusy === 'refuse') throw yield* busyTask(task)
  yield* run('insertDispatch', { id, n: next, words, status: isBusy ? 'waiting' : 'active', now })
  yield* run('addDispatchCount', { id, now })
  if (!isBusy) yield* run('queueDispatch', { id, n: next, attempts: 0, now })
  return yield* getDispatch(id, next)
}

function* sameDispatch(id: string, n: number, words: string | null): Program<Dispatch> {
  const stored = yield* getDispatch(id, n)
  if (stored.words === words) return stored
  throw new KeyReusedError(id, `dispatch ${n} of task ${JSON.stringify(id)} has other words`)
}

/** The error that a running or queued dispatch of the task is in the way. */
export function* busyTask(task: TaskRow): Program<BusyError> {
  const row = yield* first('dispatchByNumber', { id: task.id, n: task.current })
  return busyDispatch(task.id, row)
}

export function busyDispatch(id: string, row: DispatchRow | undefined): BusyError {
  const isRunning = row?.dispatch_status === 'running'
  return heldByAnother(nameOfTask(id), isRunning ? row : { holder: null, lease_until: null })
}

export function* needTask(id: string): Program<TaskRow> {
  const row = yield* first('taskById', { id })
  if (!row) throw new NotFoundError('task', id)
  return row
}

export function* getDispatch(id: string, n: number): Program<Dispatch> {
  const row = yield* first('dispatchByNumber', { id, n })
  if (!row) throw new NotFoundError('dispatch', `${id}#${n}`)
  return dispatchFromRow(row)
}
