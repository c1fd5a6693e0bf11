import type { Holder } from './errors.ts'
import type { ConversationId } from './ids.ts'
import type { JsonObject } from './json.ts'
import type { Page, PageOptions } from './listing.ts'

/** The state of a dispatch. `waiting`: an earlier dispatch of the same task has not ended. `queued`: a worker
 *  may claim it. `running`: a worker holds it. The other three are final, but `retryTask` queues a failed or
 *  cancelled dispatch again. */
export type DispatchStatus = 'waiting' | 'queued' | 'running' | 'done' | 'failed' | 'cancelled'

/** The state of a task: that of its queued or running dispatch, otherwise of its last one. */
export type TaskStatus = Exclude<DispatchStatus, 'waiting'>

/** All states of a task, in the order in which it goes through them. */
export const taskStatuses: readonly TaskStatus[] = ['queued', 'running', 'done', 'failed', 'cancelled']

/** A work item. It has one conversation, which continues over its dispatches. */
export interface Task {
  /** Unique in the tenant: the caller's own id, or `T-` and a number. */
  readonly id: string
  /** The project that the task belongs to, or null. */
  readonly project: string | null
  /** What to do. The first message of the task's conversation. */
  readonly description: string
  /** More about the task, for the first message. Null if there is none. */
  readonly context: string | null
  /** The state of its queued or running dispatch, otherwise of its last one. */
  readonly status: TaskStatus
  /** The number of that dispatch. */
  readonly current: number
  /** How often it was dispatched, waiting dispatches included. */
  readonly dispatches: number
  /** The conversation of its newest dispatch that has one, or null. */
  readonly conversationId: ConversationId | null
  /** The task that filed it, or null. */
  readonly parent: string | null
  /** The caller's own data, up to 64 KiB of JSON. `{}` if there is none. */
  readonly metadata: JsonObject
  /** When it was submitted. Lists are ordered by it. */
  readonly createdAt: Date
  /** When its state last changed. */
  readonly updatedAt: Date
}

/** A task to submit. */
export interface NewTask {
  /** Default: `T-` and the next number. */
  readonly id?: string
  /** Default: none. */
  readonly project?: string | null
  /** What to do, up to 1 MiB. */
  readonly description: string
  /** More about the task, up to 1 MiB. Default: none. */
  readonly context?: string | null
  /** The task that files it. Default: none. */
  readonly parent?: string | null
  /** The caller's own data, up to 64 KiB of JSON. Default: `{}`. */
  readonly metadata?: object
}

/** One order to work on a task: one turn of its conversation. */
export interface Dispatch {
  /** The id of the task. */
  readonly task: string
  /** Its number within the task, from 1. */
  readonly n: number
  /** What the worker is told. Null: the description and the context of the task. */
  readonly words: string | null
  /** The state of the dispatch. */
  readonly status: DispatchStatus
  /** How often it was claimed. */
  readonly attempts: number
  /** How many of the last claims in a row ended with the death of their worker. */
  readonly deaths: number
  /** The process that holds it while it runs. */
  readonly holder: Holder | null
  /** The name of the worker that claimed it last, or null. */
  readonly worker: string | null
  /** When the claim ends unless its holder renews it. Null if it does not run. */
  readonly leaseUntil: Date | null
  /** True if it was asked to stop while it runs. */
  readonly cancelRequested: boolean
  /** The conversation that it ran in, or null. */
  readonly conversationId: ConversationId | null
  /** What it returned. Null until it is done. */
  readonly result: JsonObject | null
  /** Why it failed. Null if it did not. */
  readonly error: string | null
  /** When it was ordered. */
  readonly createdAt: Date
  /** Since when a worker could claim it. Null while it waits for an earlier one. */
  readonly queuedAt: Date | null
  /** When it was last claimed, or null. */
  readonly startedAt: Date | null
  /** When it ended, or null. */
  readonly endedAt: Date | null
}

/** How to order a dispatch. */
export interface DispatchOptions {
  /** What the worker is told, up to 1 MiB. Default: the description and the context of the task. */
  readonly words?: string
  /** The number that the dispatch must have. A repeated call with the same number and words returns the same
   *  dispatch. Default: the next number. */
  readonly n?: number
  /** If an earlier dispatch has not ended: `wait` for it (default), or `refuse` with BusyError. */
  readonly onBusy?: 'wait' | 'refuse'
}

/** Who claims a dispatch. */
export interface ClaimRequest {
  /** The process of the worker. */
  readonly holder: Holder
  /** The name of the worker, for people. */
  readonly worker: string
}

/** Which dispatches a worker claims. */
export interface ClaimFilter {
  /** Only tasks of these projects, 1 to 100. Default: all tasks. */
  readonly projects?: readonly string[]
}

/** The right to run a dispatch. Every claim has another `attempt`, so a worker that lost its claim cannot
 *  write with it. */
export interface DispatchClaim {
  /** The id of the task. */
  readonly task: string
  /** The number of the dispatch. */
  readonly n: number
  /** `attempts` of the dispatch when it was claimed. */
  readonly attempt: number
}

/** A dispatch that the caller may run now. */
export interface ClaimedDispatch {
  /** The task, as it is now. */
  readonly task: Task
  /** The dispatch, running. */
  readonly dispatch: Dispatch
  /** Proves the claim in later calls. */
  readonly claim: DispatchClaim
}

/** How a dispatch ended. */
export interface DispatchEnd {
  /** The final state. */
  readonly status: 'done' | 'failed' | 'cancelled'
  /** What it returned, up to 16 MiB of JSON. Default: nothing. */
  readonly result?: object
  /** Why it failed, up to 64 KiB. Default: nothing. */
  readonly error?: string
}

/** Which tasks to list, newest first. */
export interface ListTasks extends PageOptions {
  /** Only tasks of this project. */
  readonly project?: string
  /** Only tasks in this state. */
  readonly status?: TaskStatus
  /** Only tasks that were submitted at this time or later. */
  readonly createdFrom?: Date
  /** Only tasks that were submitted before this time. */
  readonly createdBefore?: Date
}

/** The number of tasks in each state. */
export type TaskCounts = Readonly<Record<TaskStatus, number>>

/** The effects of deleting tasks. */
export interface DeletedTasks {
  /** The number of deleted tasks. */
  readonly tasks: number
  /** The conversations that were moved to the trash. */
  readonly trashed: readonly ConversationId[]
}

/** How many deaths in a row end a dispatch as failed. */
export const mostDeaths = 3

/** Keeps tasks and the queue of their dispatches. Each call is one transaction. */
export interface TaskKeeper {
  /** Stores a task and queues its first dispatch. A repeated call with the same id and fields returns the
   *  stored task. Throws KeyReusedError if the id has other fields. */
  submitTask(task: NewTask): Promise<Task>
  /** Orders another dispatch. It is queued, or waits until the earlier ones have ended. Throws
   *  NotFoundError, BusyError, or KeyReusedError if the number has other words. */
  dispatchTask(id: string, options?: DispatchOptions): Promise<Dispatch>
  /** Claims the oldest queued dispatch for 30 seconds, or returns null. Callers at the same moment get
   *  different ones. */
  claimDispatch(request: ClaimRequest, filter?: ClaimFilter): Promise<ClaimedDispatch | null>
  /** Claims this dispatch, if it is queued. Returns null if it has ended. Throws BusyError if it runs or
   *  waits for an earlier one. */
  claimThisDispatch(id: string, n: number, request: ClaimRequest): Promise<ClaimedDispatch | null>
  /** Extends the claim by 30 seconds. The result tells whether the dispatch was asked to stop. Throws
   *  ExpiredError if the claim was lost. */
  renewDispatch(claim: DispatchClaim): Promise<Dispatch>
  /** Stores the conversation that a running dispatch uses. Throws ExpiredError if the claim was lost. */
  linkDispatch(claim: DispatchClaim, conversationId: ConversationId): Promise<void>
  /** Ends a running dispatch and queues the next one that waits. A repeated call returns the stored end.
   *  Throws ExpiredError if the claim was lost. */
  finishDispatch(claim: DispatchClaim, end: DispatchEnd): Promise<Dispatch>
  /** Gives a running dispatch back: it is first in the queue again, or cancelled if it was asked to stop.
   *  Throws ExpiredError if the claim was lost. */
  releaseDispatch(claim: DispatchClaim): Promise<Dispatch>
  /** Ends the claim of a dead worker, if it was not renewed since `seen` was read. The dispatch is queued
   *  again; after three deaths in a row it has failed. Null if the claim has changed since. */
  reclaimDispatch(seen: Dispatch): Promise<Dispatch | null>
  /** Cancels the queued and waiting dispatches of a task, and asks a running one to stop. A repeated call
   *  changes nothing. Throws InvalidError if the task is done or has failed. */
  cancelTask(id: string): Promise<Task>
  /** Queues the last dispatch again, if it failed or was cancelled. It continues its turn. Throws
   *  InvalidError in any other state. */
  retryTask(id: string): Promise<Task>
  /** Throws NotFoundError. */
  getTask(id: string): Promise<Task>
  /** A page of tasks, newest first. */
  listTasks(options?: ListTasks): Promise<Page<Task>>
  /** Throws NotFoundError. */
  getDispatch(id: string, n: number): Promise<Dispatch>
  /** The dispatches of a task, in order. Throws NotFoundError. */
  listDispatches(id: string, page?: PageOptions): Promise<Page<Dispatch>>
  /** The dispatches that run now, by task. */
  listRunningDispatches(page?: PageOptions): Promise<Page<Dispatch>>
  /** The number of tasks in each state. Reads an index of all tasks. */
  countTasks(): Promise<TaskCounts>
  /** Deletes a task and moves its conversations to the trash. Throws NotFoundError, and BusyError while a
   *  dispatch runs. */
  deleteTask(id: string): Promise<DeletedTasks>
  /** Deletes all tasks of a project and moves its conversations to the trash. Throws BusyError while a
   *  dispatch of one of them runs. */
  deleteProject(project: string): Promise<DeletedTasks>
}

/** The words of a dispatch: its own, or the description of its task with the context. */
export function wordsOfDispatch(
  task: Pick<Task, 'description' | 'context'>,
  dispatch: Pick<Dispatch, 'words'>,
): string {
  if (dispatch.words !== null) return dispatch.words
  return task.context === null ? task.description : `${task.description}\n\nContext:\n${task.context}`
}
