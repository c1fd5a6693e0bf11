import { InvalidError, NotFoundError } from '../../../core/errors.ts'
import type { ConversationId } from '../../../core/ids.ts'
import type { Page, PageOptions } from '../../../core/listing.ts'
import {
  type DeletedTasks,
  type Dispatch,
  type ListTasks,
  type Task,
  type TaskCounts,
  type TaskStatus,
  taskStatuses,
} from '../../../core/task.ts'
import { all, countChanges, first, type Program, run } from '../../engine/engine.ts'
import { dispatchFromRow, taskFromRow } from '../../engine/row-to-task.ts'
import type { TaskRow } from '../../engine/task-rows.ts'
import { defaultLimit, numberAfter, pageOf, readCursor } from '../cursor.ts'
import { trashConversation } from '../trash.ts'
import { endDispatch } from './claim.ts'
import { busyDispatch, busyTask, needTask } from './submit.ts'

export function* cancelTask(id: string, now: number): Program<Task> {
  const task = yield* lockTask(id)
  if (task.status === 'done' || task.status === 'failed')
    throw new InvalidError(
      'task',
      `${JSON.stringify(id)} is ${task.status}: only a queued or running task is cancelled`,
    )
  if (task.dispatches > task.current) yield* run('cancelWaiting', { id, now })
  if (task.status === 'running') yield* run('requestCancel', { id, now })
  else if (task.status === 'queued') {
    const row = (yield* first('lockDispatch', { id, n: task.current }))!
    yield* endDispatch({ ...row, dispatches: row.n }, { status: 'cancelled', deaths: row.deaths }, now)
  }
  return yield* getTask(id)
}

export function* retryTask(id: string, now: number): Program<Task> {
  const task = yield* lockTask(id)
  if (task.status !== 'failed' && task.status !== 'cancelled')
    throw new InvalidError(
      'task',
      `${JSON.stringify(id)} is ${task.status}: only a failed or cancelled task is retried`,
    )
  const row = (yield* first('lockDispatch', { id, n: task.current }))!
  yield* run('setDispatchActive', { id, n: row.n })
  yield* run('queueDispatch', { id, n: row.n, attempts: row.attempts, now })
  return yield* getTask(id)
}

export function* getTask(id: string): Program<Task> {
  return taskFromRow(yield* needTask(id))
}

/** Later than every task. */
const endOfTime = 2 ** 53 - 1

/** A page of tasks. The cursor is the time and the id of the last one. */
export function* listTasks(options: ListTasks): Program<Page<Task>> {
  const { project, status, limit = defaultLimit, after } = options
  const [created_at, id] = after === undefined ? [endOfTime, ''] : readCursor(after, ['number', 'string'])
  const page = {
    created_at: created_at as number,
    id: id as string,
    created_from: options.createdFrom?.getTime() ?? 0,
    created_before: options.createdBefore?.getTime() ?? endOfTime,
    limit: limit + 1,
  }
  const rows = yield* taskRows(page, project, status)
  return pageOf(rows, options, taskFromRow, row => [row.created_at, row.id])
}

function* taskRows(
  page: { created_at: number; id: string; created_from: number; created_before: number; limit: number },
  project: string | undefined,
  status: TaskStatus | undefined,
): Program<readonly TaskRow[]> {
  if (status === undefined)
    return project === undefined
      ? yield* all('listTasks', page)
      : yield* all('listTasksOf', { ...page, project })
  if (status === 'done')
    return project === undefined
      ? yield* all('listDoneTasks', page)
      : yield* all('listDoneTasksOf', { ...page, project })
  return project === undefined
    ? yield* all('listTasksIn', { ...page, status })
    : yield* all('listTasksOfIn', { ...page, project, status })
}

export function* listDispatches(id: string, page: PageOptions): Program<Page<Dispatch>> {
  const { limit = defaultLimit } = page
  const rows = yield* all('listDispatches', { id, after: numberAfter(page, 0), limit: limit + 1 })
  if (rows.length === 0) yield* needTask(id)
  return pageOf(rows, page, dispatchFromRow, row => [row.n])
}

export function* listRunning(page: PageOptions): Program<Page<Dispatch>> {
  const { limit = defaultLimit, after } = page
  const last = after === undefined ? '' : (readCursor(after, ['string'])[0] as string)
  const rows = yield* all('listRunning', { after: last, limit: limit + 1 })
  return pageOf(rows, page, dispatchFromRow, row => [row.task])
}

export function* countTasks(): Program<TaskCounts> {
  const counts = Object.fromEntries(taskStatuses.map(status => [status, 0])) as Record<TaskStatus, number>
  for (const { status, count } of yield* all('countTasks', {})) {
    if (status === 'all') counts.done += count
    else {
      counts[status as TaskStatus] = count
      counts.done -= count
    }
  }
  return counts
}

export function* deleteTask(id: string, now: number): Program<DeletedTasks> {
  const task = yield* lockTask(id)
  if (task.status === 'running') throw yield* busyTask(task)
  const { project } = task
  // A caller that is about to create the conversation of the task ends first.
  yield* run('lockTask', { task: id, project })
  yield* run('deleteDispatches', { id })
  yield* run('deleteTask', { id })
  return { tasks: 1, trashed: yield* trashAll(yield* all('conversationsOfTask', { task: id, project }), now) }
}

export function* deleteProject(project: string, now: number): Program<DeletedTasks> {
  yield* first('lockTasksIn', { project })
  const running = yield* first('runningIn', { project })
  if (running) throw busyDispatch(running.task, running)
  yield* run('deleteDispatchesIn', { project })
  const tasks = yield* countChanges('deleteTasksIn', { project })
  return { tasks, trashed: yield* trashAll(yield* all('conversationsOfProject', { project }), now) }
}

function* trashAll(rows: readonly { readonly id: string }[], now: number): Program<ConversationId[]> {
  const trashed: ConversationId[] = []
  for (const { id } of rows) {
    if (yield* trashConversation(id as ConversationId, now)) trashed.push(id as ConversationId)
  }
  return trashed
}

function* lockTask(id: string): Program<TaskRow> {
  const row = yield* first('lockTaskById', { id })
  if (!row) throw new NotFoundError('task', id)
  return row
}
