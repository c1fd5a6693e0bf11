/**
 * Dispatch: work items ("tasks") that agents do, each with one conversation that continues over dispatches,
 * workers and machines. `createWorker` takes tasks from the store's queue; `createDispatcher` runs them under
 * any other queue; `submitTaskTool` lets an agent file more tasks. See docs/dispatch.md.
 */

// Start with `worker.ts` (claims, and gives to `run-claimed.ts`), then `run-claimed.ts`, which runs one
// dispatch as one turn and ends it in every case.
// - `claims.ts` renews the claim of a worker, and ends the claims of dead ones
// - `task-conversation.ts` finds or creates the conversation; `dispatch-result.ts` is what a dispatch returns
// - `dispatcher.ts` orders and runs one dispatch, for other queues and for the command
// - `dispatch-metrics.ts` turns the events of workers into figures
// May import core, system, context, recorder and agent. It receives a store and opens none.

export type {
  ClaimedDispatch,
  ClaimFilter,
  ClaimRequest,
  DeletedTasks,
  Dispatch,
  DispatchClaim,
  DispatchEnd,
  DispatchOptions,
  DispatchStatus,
  ListTasks,
  NewTask,
  Task,
  TaskCounts,
  TaskKeeper,
  TaskStatus,
} from '../core/task.ts'
export { mostDeaths, taskStatuses, wordsOfDispatch } from '../core/task.ts'
export type { DispatchEvent } from './dispatch-event.ts'
export { dispatchMetrics } from './dispatch-metrics.ts'
export type { DispatchResult } from './dispatch-result.ts'
export { type DispatchSource, systemDispatchSource } from './dispatch-source.ts'
export { createDispatcher, type Dispatcher, type DispatchRunOptions } from './dispatcher.ts'
export type { DispatchAgent, DispatcherOptions, DispatchStore } from './dispatcher-options.ts'
export { type SubmitTaskOptions, submitTaskTool } from './submit-task-tool.ts'
export type { TaskExpiry } from './task-conversation.ts'
export { createWorker, type DispatchWorker, type WorkerOptions } from './worker.ts'
