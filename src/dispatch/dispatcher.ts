import { BusyError } from '../core/errors.ts'
import type { ClaimRequest, Dispatch } from '../core/task.ts'
import { watchClaims } from './claims.ts'
import type { DispatchEvent } from './dispatch-event.ts'
import type { DispatchResult } from './dispatch-result.ts'
import { type DispatchSource, systemDispatchSource, wait } from './dispatch-source.ts'
import { type DispatcherOptions, dispatcherState } from './dispatcher-options.ts'
import { type RunOptions, runClaimed } from './run-claimed.ts'

/** How `run` orders and runs a dispatch. */
export interface DispatchRunOptions {
  /** The number of the dispatch. A queue that delivers a job twice passes the same number: the second
   *  delivery returns the result of the first. Default: the queued dispatch of the task if there is one and
   *  no words are given, otherwise the next number. */
  readonly n?: number
  /** If the task has a dispatch that has not ended: `wait` for it (default), or `refuse` with BusyError. */
  readonly onBusy?: 'wait' | 'refuse'
  /** The name of the worker in the result. Default: `run`. */
  readonly worker?: string
  /** Gives the dispatch back. */
  readonly signal?: AbortSignal
  /** Receives what happens, in addition to the dispatcher's own receiver. */
  readonly onEvent?: (event: DispatchEvent) => void
}

/** Runs dispatches of tasks, each as one turn of the task's conversation. */
export interface Dispatcher {
  /** Orders a dispatch, runs it in this process and returns its result. Safe to call from the handler of any
   *  queue. If another worker runs it first, that worker's result is returned; null if it was given back. A
   *  dispatch that fails has a result with `success: false`. Throws NotFoundError, BusyError, InvalidError.
   *
   * @example
   * ```ts
   * import { openStore } from 'skein'
   * import { createDispatcher } from 'skein/dispatch'
   * import { scripted } from 'skein/models'
   *
   * await using store = await openStore(':memory:')
   * const dispatcher = createDispatcher({ store, tasks: store, agentFor: () => ({ model: scripted() }) })
   * const { id } = await store.submitTask({ project: 'web', description: 'My name is Ada.' })
   * await dispatcher.run(id)
   * const result = await dispatcher.run(id, 'What is my name?')
   * console.log(result?.response) // Your name is Ada.
   * ```
   */
  run(taskId: string, words?: string, options?: DispatchRunOptions): Promise<DispatchResult | null>
}

/** Creates a dispatcher. `createWorker` takes dispatches from the queue; `run` of the dispatcher runs one
 *  task now. */
export function createDispatcher(
  options: DispatcherOptions,
  source: DispatchSource = systemDispatchSource,
): Dispatcher {
  const state = dispatcherState(options, source)
  const { tasks } = state

  return {
    async run(taskId, words, given = {}) {
      const { onBusy = 'wait', worker = 'run', signal } = given
      const report = (event: DispatchEvent) => {
        state.onEvent(event)
        given.onEvent?.(event)
      }
      const { n } = await order(taskId, words, given.n, onBusy)
      const request = { holder: source.holder(), worker }
      const reclaim = watchClaims(tasks, source)
      for (let isNew = true; !signal?.aborted; isNew = false) {
        if (!isNew) await wait(pollMs, source, signal)
        try {
          const claimed = await tasks.claimThisDispatch(taskId, n, request)
          if (claimed === null) return storedResult(await tasks.getDispatch(taskId, n))
          const run: RunOptions = { worker, signal, report }
          const outcome = await runClaimed(state, claimed, run)
          if (outcome) return outcome.result
          if (signal?.aborted) return null
        } catch (error) {
          if (!(error instanceof BusyError)) throw error
          if (onBusy === 'refuse' && !isNew) throw error
          // The holder may be dead.
          for (const dispatch of await reclaim()) report({ type: 'reclaimed', dispatch })
          await runEarlier(taskId, n, request, { worker, signal, report })
        }
      }
      return null
    },
  }

  /** Runs the dispatch that this one waits for, if no worker has claimed it. Otherwise `run` would wait for
   *  ever where no worker takes from the queue. */
  async function runEarlier(
    taskId: string,
    n: number,
    request: ClaimRequest,
    run: RunOptions,
  ): Promise<void> {
    const { status, current } = await tasks.getTask(taskId)
    if (status !== 'queued' || current >= n) return
    try {
      const claimed = await tasks.claimThisDispatch(taskId, current, request)
      if (claimed) await runClaimed(state, claimed, run)
    } catch (error) {
      // A worker was faster.
      if (!(error instanceof BusyError)) throw error
    }
  }

  async function order(
    taskId: string,
    words: string | undefined,
    n: number | undefined,
    onBusy: 'wait' | 'refuse',
  ): Promise<Dispatch> {
    if (n === undefined && words === undefined) {
      const task = await tasks.getTask(taskId)
      if (task.status === 'queued') return tasks.getDispatch(taskId, task.current)
    }
    return tasks.dispatchTask(taskId, {
      onBusy,
      ...(words === undefined ? {} : { words }),
      ...(n === undefined ? {} : { n }),
    })
  }
}

/** How often a caller looks whether the dispatches before its own have ended. */
const pollMs = 250

/** The result of a dispatch that ended elsewhere. One that was cancelled before it ran has none. */
function storedResult({ task, n, status, error, worker, endedAt, ...rest }: Dispatch): DispatchResult {
  if (rest.result !== null) return rest.result as unknown as DispatchResult
  return {
    task_id: task,
    dispatch: n,
    worker_id: worker ?? '',
    agent_id: '',
    conversation_id: rest.conversationId,
    response: '',
    tokens_used: 0,
    completed_at: (endedAt ?? rest.createdAt).toISOString(),
    success: status === 'done',
    ...(status === 'done' ? {} : { error: error ?? status }),
    saved: true,
  }
}
