import type { Task } from '../../../core/task.ts'
import { all, type Program } from '../../engine/engine.ts'
import { taskFromRow } from '../../engine/row-to-task.ts'
import { listTasks } from './manage.ts'

/** A task as far as a poll compares it. */
export interface PolledTask {
  readonly id: string
  readonly time: number
  readonly isOpen: boolean
  readonly mark: string
}

/** Most tasks of each kind that a poll compares. */
const mostTasks = 1_000

/** Tasks that have changed since a time, and the known ones that still exist. The first poll also reads the
 *  oldest queued tasks, so that it notices when they change. */
export function* pollTasks(
  since: number,
  known: readonly string[],
  isFirst: boolean,
): Program<readonly PolledTask[]> {
  const queued_since = isFirst ? 0 : since
  const rows = yield* all('recentTasks', { since, queued_since, limit: mostTasks, known })
  return rows.map(({ id, status, current, dispatches, conversation_id, updated_at }) => ({
    id,
    time: updated_at,
    isOpen: status === 'queued' || status === 'running',
    mark: JSON.stringify([status, current, dispatches, conversation_id, updated_at]),
  }))
}

/** Tasks that have changed at a time or later, oldest change first, and by id if they changed at the same
 *  time: servers return them in different orders. */
export function* tasksSince(since: number): Program<readonly Task[]> {
  const polled = yield* pollTasks(since, [], false)
  const tasks = yield* readTasks(polled.filter(({ time }) => time >= since).map(({ id }) => id))
  const found = new Map(tasks.map(task => [task.id, task]))
  // Those that ended without a conversation are in none of the indexes that a poll reads.
  for (const status of ['failed', 'cancelled'] as const) {
    const { items } = yield* listTasks({ status, limit: 100 })
    for (const task of items) if (task.updatedAt.getTime() >= since) found.set(task.id, task)
  }
  return [...found.values()].sort(
    (a, b) => a.updatedAt.getTime() - b.updatedAt.getTime() || (a.id < b.id ? -1 : 1),
  )
}

/** The tasks with these ids that exist. */
export function* readTasks(ids: readonly string[]): Program<readonly Task[]> {
  return ids.length === 0 ? [] : (yield* all('tasksByIds', { ids })).map(taskFromRow)
}
