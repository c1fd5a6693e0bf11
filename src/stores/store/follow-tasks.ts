import { ReadOnlyError } from '../../core/errors.ts'
import type { TaskEvent } from '../../core/follow.ts'
import type { Task } from '../../core/task.ts'
import type { Engine } from '../engine/engine.ts'
import { writeCursor } from '../programs/cursor.ts'
import { readTasks, tasksSince } from '../programs/tasks/follow-tasks.ts'
import type { FollowHub } from './follow-hub.ts'
import { taskOverlapMs } from './task-watch.ts'

/** Changes of all tasks of the tenant. After a reconnect, or if the consumer is too slow, they are read from
 *  the store; otherwise all iterations share what the hub has found. */
export async function* followTasks(
  engine: Pick<Engine, 'query'>,
  hub: FollowHub,
  since: number | null,
  signal: AbortSignal | undefined,
): AsyncGenerator<TaskEvent, void, void> {
  let time = since
  if (!(await hasTasks())) return
  const watch = hub.watchTasks()
  try {
    if ((await watch.ready(signal)) === 'ended') return
    let order = watch.newest()
    if (time !== null) yield* readMissed()
    for (;;) {
      if ((await watch.changed(order, signal)) === 'ended') return
      const found = watch.after(order)
      order = found?.at(-1)?.order ?? watch.newest()
      if (found === null) yield* readMissed()
      for (const { id, task } of found ?? []) {
        if (signal?.aborted) return
        yield task ? eventOf(task, false) : { cursor: cursor(), isReplay: false, type: 'task_deleted', id }
      }
    }
  } finally {
    watch.close()
  }

  /** False for an old file that cannot be written and has no tasks. Fails if the store is closed or away. */
  async function hasTasks(): Promise<boolean> {
    try {
      await engine.query(() => readTasks(['']))
      return true
    } catch (error) {
      if (error instanceof ReadOnlyError) return false
      throw error
    }
  }

  async function* readMissed(): AsyncGenerator<TaskEvent, void, void> {
    const from = Math.max(0, (time ?? 0) - taskOverlapMs)
    for (const task of await engine.query(() => tasksSince(from))) {
      if (signal?.aborted || hub.isClosed()) return
      yield eventOf(task, true)
    }
  }

  function eventOf(task: Task, isReplay: boolean): TaskEvent {
    time = Math.max(time ?? 0, task.updatedAt.getTime())
    return { cursor: cursor(), isReplay, type: 'task', task }
  }

  function cursor(): string {
    return writeCursor([time ?? 0])
  }
}
