import type { DispatchRow, QueueRow, TaskRow } from './task-rows.ts'

interface OfTask {
  readonly id: string
}
interface OneDispatch extends OfTask {
  readonly n: number
}
interface TaskPage {
  readonly created_from: number
  readonly created_before: number
  /** The last task of the page before. */
  readonly created_at: number
  readonly id: string
  readonly limit: number
}

/** Statements of tasks. The state of the queued or running dispatch is in the row of its task, because a task
 *  has one at most: a claim then writes one row. */
export interface TaskStatements {
  /** Increments the counter of task ids, which stays locked until the end of the transaction. */
  nextTaskNumber: [Readonly<Record<never, never>>, { value: number }]
  /** Writes nothing if the id is taken. The first dispatch is queued. */
  insertTask: [
    {
      id: string
      project: string | null
      description: string
      context: string | null
      parent: string | null
      metadata: string
      now: number
    },
    never,
  ]
  insertDispatch: [OneDispatch & { words: string | null; status: 'waiting' | 'active'; now: number }, never]
  taskById: [OfTask, TaskRow]
  /** Locks the task until the transaction ends. */
  lockTaskById: [OfTask, TaskRow]
  dispatchByNumber: [OneDispatch, DispatchRow]
  /** The dispatch with its task, which is locked until the transaction ends. */
  lockDispatch: [OneDispatch, QueueRow]
  /** The oldest queued dispatch with its task, which is locked. Skips tasks that others have locked. */
  nextQueued: [Readonly<Record<never, never>>, QueueRow]
  nextQueuedIn: [{ project: string }, QueueRow]
  /** Those of the projects that have a queued task, that with the oldest first. */
  queuedProjects: [{ projects: readonly string[] }, { project: string }]
  setClaimed: [OfTask & { holder: string; worker: string; lease_until: number; now: number }, never]
  renewClaim: [OfTask & { lease_until: number }, never]
  /** Gives a claim up. The place in the queue stays the same. */
  setUnclaimed: [OfTask & { deaths: number; now: number }, never]
  /** Makes a dispatch the queued one of its task. */
  queueDispatch: [OneDispatch & { attempts: number; now: number }, never]
  setDispatchActive: [OneDispatch, never]
  /** Moves the state of the active dispatch from the row of the task to its own, and ends it. */
  endDispatch: [
    OneDispatch &
      Pick<DispatchRow, 'attempts' | 'worker' | 'queued_at' | 'started_at'> & {
        status: string
        deaths: number
        result: string | null
        error: string | null
        now: number
      },
    never,
  ]
  endTask: [OfTask & { status: string; now: number }, never]
  addDispatchCount: [OfTask & { now: number }, never]
  cancelWaiting: [OfTask & { now: number }, never]
  firstWaiting: [OfTask, { n: number }]
  requestCancel: [OfTask & { now: number }, never]
  linkDispatch: [OneDispatch & { conversation_id: string }, never]
  linkTask: [OfTask & { conversation_id: string }, never]
  /** Tasks of any project, or `Of` one, newest first. `In` asks for a status other than `done`: few tasks
   *  have one of those, and an index has only them. */
  listTasks: [TaskPage, TaskRow]
  listTasksOf: [TaskPage & { project: string }, TaskRow]
  listTasksIn: [TaskPage & { status: string }, TaskRow]
  listTasksOfIn: [TaskPage & { project: string; status: string }, TaskRow]
  listDoneTasks: [TaskPage, TaskRow]
  listDoneTasksOf: [TaskPage & { project: string }, TaskRow]
  listDispatches: [OfTask & { after: number; limit: number }, DispatchRow]
  listRunning: [{ after: string; limit: number }, DispatchRow]
  /** The tasks of each status but `done`, of which there are most, and of `all`. */
  countTasks: [Readonly<Record<never, never>>, { status: string; count: number }]
  /** Locks the tasks of a project and counts them. */
  lockTasksIn: [{ project: string }, { count: number }]
  runningIn: [{ project: string }, DispatchRow]
  deleteDispatches: [OfTask, never]
  deleteTask: [OfTask, never]
  deleteDispatchesIn: [{ project: string }, never]
  deleteTasksIn: [{ project: string }, never]
  /** Writes nothing if the id is taken. */
  insertTaskRecord: [
    TaskRow & {
      attempts: number
      deaths: number
      worker: string | null
      queued_at: number
      started_at: number | null
    },
    never,
  ]
  insertDispatchRecord: [
    OneDispatch & {
      words: string | null
      status: string
      attempts: number
      deaths: number
      worker: string | null
      conversation_id: string | null
      result: string | null
      error: string | null
      now: number
      queued_at: number | null
      started_at: number | null
      ended_at: number | null
    },
    never,
  ]
  /** The next task without an id gets a higher number than this. */
  raiseTaskNumber: [{ value: number }, never]
  taskIds: [{ after: string; limit: number }, { id: string }]
  /** What the dispatches of each task come to. */
  checkedTasks: [
    { after: string; limit: number },
    Pick<TaskRow, 'id' | 'status' | 'current' | 'dispatches'> & {
      count: number
      highest: number | null
      active: number
      active_n: number | null
      waiting: number
    },
  ]
  looseDispatches: [Readonly<Record<never, never>>, { task: string; count: number }]
  /** All conversations that are not in the trash, also expired ones. */
  conversationsOfTask: [{ task: string; project: string | null }, { id: string }]
  conversationsOfProject: [{ project: string }, { id: string }]
}
