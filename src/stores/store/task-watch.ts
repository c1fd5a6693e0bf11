import type { Task } from '../../core/task.ts'
import type { Engine } from '../engine/engine.ts'
import { type PolledTask, pollTasks, readTasks } from '../programs/tasks/follow-tasks.ts'

/** Clocks and commits may be out of order by so much: a poll looks back this far. */
export const taskOverlapMs = 60_000

/** Known tasks that a poll reads again. */
const mostAsked = 500

/** Changes that are kept for iterations that have not delivered them yet. */
const mostKept = 5_000

/** A change of a task, numbered in the order in which this process found it. Null: the task was deleted. */
export interface FoundTask {
  readonly order: number
  readonly id: string
  readonly task: Task | null
}

/** The changes of tasks that polls have found. */
export interface TaskWatch {
  /** Finds changes since the last poll. */
  poll(): Promise<void>
  /** Whether a poll has run since `reset`. */
  isReady(): boolean
  /** The number of the newest change. */
  newest(): number
  /** Changes after a number, in order; null if some of them are not kept any more. */
  after(order: number): readonly FoundTask[] | null
  /** Forgets everything: nothing follows any more. */
  reset(): void
}

/** Compares polls of tasks. Open tasks stay known until they end, however long that takes. */
export function taskWatch(engine: Pick<Engine, 'query' | 'source'>): TaskWatch {
  const known = new Map<string, PolledTask>()
  const found = new Map<string, FoundTask>()
  let isReady = false
  let newest = 0
  let droppedUpTo = 0
  let since = 0

  function add(id: string, task: Task | null): void {
    found.delete(id)
    found.set(id, { order: ++newest, id, task })
  }

  return {
    async poll() {
      const isFirst = !isReady
      if (isFirst) since = engine.source.now() - taskOverlapMs
      const asked = [...known.keys()].slice(0, mostAsked)
      const polled = await engine.query(() => pollTasks(since, asked, isFirst))
      const changed = polled.filter(({ id, mark }) => known.get(id)?.mark !== mark)
      const there = new Set(polled.map(({ id }) => id))
      if (!isFirst && changed.length > 0) {
        const tasks = await engine.query(() => readTasks(changed.map(({ id }) => id)))
        for (const task of tasks) add(task.id, task)
      }
      for (const id of asked) {
        const before = known.get(id)
        if (!before || !known.delete(id)) continue
        // Moved to the end, so that the next poll asks for others.
        if (there.has(id)) known.set(id, before)
        else add(id, null)
      }
      for (const one of changed) known.set(one.id, one)
      since = Math.max(since, Math.max(0, ...polled.map(({ time }) => time)) - taskOverlapMs)
      for (const [id, { isOpen, time }] of known) if (!isOpen && time < since) known.delete(id)
      for (const [id, { order }] of found) {
        if (found.size <= mostKept) break
        found.delete(id)
        droppedUpTo = order
      }
      isReady = true
    },
    isReady: () => isReady,
    newest: () => newest,
    after: order => (order < droppedUpTo ? null : [...found.values()].filter(one => one.order > order)),
    reset() {
      isReady = false
      known.clear()
      found.clear()
    },
  }
}
