import { checkObject } from '../core/check.ts'
import { BusyError } from '../core/errors.ts'
import type { Maintainer } from '../core/maintainer.ts'
import type { ClaimFilter } from '../core/task.ts'
import { watchClaims } from './claims.ts'
import type { DispatchEvent } from './dispatch-event.ts'
import { type DispatchSource, systemDispatchSource, wait } from './dispatch-source.ts'
import { type DispatcherOptions, dispatcherState } from './dispatcher-options.ts'
import { runClaimed } from './run-claimed.ts'

/** What a worker is made of, in addition to a dispatcher. */
export interface WorkerOptions extends DispatcherOptions, ClaimFilter {
  /** The name in results and lists. With several at once, each adds its number. Default: `worker`. */
  readonly name?: string
  /** How many dispatches run at the same time. Default: 1. */
  readonly workers?: number
  /** How often an idle worker looks for work, in milliseconds. Default: 1,000. */
  readonly pollMs?: number
  /** How often claims of dead workers are looked for, in milliseconds. Default: 5,000. */
  readonly reclaimMs?: number
  /** Ends when no dispatch is queued. Default: false. */
  readonly untilIdle?: boolean
  /** Moves expired conversations of tasks to the trash, at the start and then at this interval. Of several
   *  workers and services with the same interval, one does it. Default: the worker does not. */
  readonly cleanUp?: { readonly store: Pick<Maintainer, 'sweep'>; readonly everyMs: number }
}

/** Takes dispatches from the queue and runs them. */
export interface DispatchWorker {
  /** Resolves when the worker has ended: after `stop`, or when the queue is empty if it was asked for that.
   *  A store that cannot be reached does not end it. */
  readonly ended: Promise<void>
  /** Claims nothing more. Dispatches that run may end within `finishWithinMs` (default 0); after that their
   *  turns are interrupted and stored, and the dispatches go back to the queue. */
  stop(options?: { readonly finishWithinMs?: number }): Promise<void>
}

/** Starts a worker.
 *
 * @example
 * ```ts
 * import { openStore } from 'skein'
 * import { createWorker } from 'skein/dispatch'
 * import { scripted } from 'skein/models'
 *
 * await using store = await openStore(':memory:')
 * const { id } = await store.submitTask({ project: 'web', description: 'Why is the login test flaky?' })
 * const agentFor = () => ({ model: scripted({ script: ['It depends on the clock.'] }) })
 * const worker = createWorker({ store, tasks: store, agentFor, workers: 4, untilIdle: true })
 * await worker.ended
 * console.log((await store.getTask(id)).status) // done
 * console.log((await store.getDispatch(id, 1)).result?.response) // It depends on the clock.
 * ```
 */
export function createWorker(
  options: WorkerOptions,
  source: DispatchSource = systemDispatchSource,
): DispatchWorker {
  checkObject(options, 'options')
  const { name = 'worker', workers = 1, pollMs = 1_000, reclaimMs = 5_000, untilIdle = false } = options
  const state = dispatcherState(options, source)
  const { tasks, onEvent } = state
  const filter: ClaimFilter = options.projects ? { projects: options.projects } : {}
  const claiming = new AbortController()
  const running = new AbortController()
  const idle = new AbortController()
  const reclaim = watchClaims(tasks, source)
  let busy = 0

  const slots = Array.from({ length: workers }, (_, i) => takeWork(workers === 1 ? name : `${name}-${i + 1}`))
  const watching = Promise.all([watchOthers(), sweepNow()])
  const ended = Promise.all(slots).then(async () => {
    idle.abort()
    await watching
  })
  ended.catch(() => undefined)

  return {
    ended,
    async stop({ finishWithinMs = 0 } = {}) {
      claiming.abort()
      // With `idle`: the timer of a long limit would keep the process alive.
      if (finishWithinMs > 0) await Promise.race([ended, wait(finishWithinMs, source, idle.signal)])
      running.abort()
      await ended
    },
  }

  /** One dispatch after the other. */
  async function takeWork(worker: string): Promise<void> {
    while (!claiming.signal.aborted) {
      const isDone = await attempt('run a dispatch', () => takeOne(worker))
      if (isDone === true) continue
      // A worker that is busy may file more tasks, or give its own back.
      if (isDone === false && untilIdle && busy === 0 && (await isQueueEmpty())) return
      await wait(busy > 0 || isDone === null ? Math.min(pollMs, 200) : pollMs, source, claiming.signal)
    }
  }

  /** Whether there was a dispatch to run. */
  async function takeOne(worker: string): Promise<boolean> {
    busy++
    try {
      const claimed = await tasks.claimDispatch({ holder: source.holder(), worker }, filter)
      if (!claimed) return false
      const report = (event: DispatchEvent) => onEvent(event)
      await runClaimed(state, claimed, { worker, signal: running.signal, report })
      return true
    } finally {
      busy--
    }
  }

  /** Other processes may still run dispatches, which come back if they die. */
  async function isQueueEmpty(): Promise<boolean> {
    const { queued, running: others } = (await attempt('count tasks', () => tasks.countTasks())) ?? {
      queued: 1,
      running: 0,
    }
    return options.projects ? true : queued + others === 0
  }

  /** Ends the claims of dead workers, so that their dispatches are queued again. */
  async function watchOthers(): Promise<void> {
    while (!idle.signal.aborted) {
      for (const dispatch of (await attempt('look for dead workers', reclaim)) ?? [])
        onEvent({ type: 'reclaimed', dispatch })
      await wait(reclaimMs, source, idle.signal)
    }
  }

  /** Expired conversations are cleaned up while the worker lives. */
  async function sweepNow(): Promise<void> {
    const { cleanUp } = options
    // A timer may fire a little early.
    const ifOlderThanMs = Math.floor((cleanUp?.everyMs ?? 0) * 0.9)
    while (cleanUp && !idle.signal.aborted) {
      const receipt = await attempt('clean up', () => cleanUp.store.sweep({ ifOlderThanMs }))
      if (receipt && !receipt.skipped) onEvent({ type: 'swept', receipt })
      await wait(cleanUp.everyMs, source, idle.signal)
    }
  }

  /** Null if the store failed: the next attempt may succeed. */
  async function attempt<T>(what: string, work: () => Promise<T>): Promise<T | null> {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof BusyError)) onEvent({ type: 'trouble', what, error })
      return null
    }
  }
}
