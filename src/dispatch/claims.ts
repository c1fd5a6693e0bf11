import { ExpiredError, NotFoundError, SkeinError } from '../core/errors.ts'
import type { Dispatch, DispatchClaim, TaskKeeper } from '../core/task.ts'
import { leaseMs } from '../core/turn.ts'
import { type DispatchSource, wait } from './dispatch-source.ts'

/** Finds claims of dead workers, and ends them. A claim is abandoned if its process was on this host and is
 *  surely dead, or if this watch has seen it for the length of a lease without a renewal. It compares no
 *  times of other machines and reads no clock that can be set, so a clock that jumps ends no claim. All
 *  workers have to agree on the length of a lease, so it cannot be set (decision 56). */
export function watchClaims(
  tasks: Pick<TaskKeeper, 'listRunningDispatches' | 'reclaimDispatch'>,
  source: Pick<DispatchSource, 'elapsed' | 'isDead'>,
) {
  /** When each claim was first seen with its present lease. */
  let seen = new Map<string, { readonly lease: number; readonly since: number }>()

  /** Looks once. Returns the dispatches whose claims it has ended. */
  return async (): Promise<readonly Dispatch[]> => {
    const ended: Dispatch[] = []
    const now = source.elapsed()
    const before = seen
    // If the store cannot be read, the holders could not renew either: the watch begins again.
    seen = new Map()
    const next: typeof seen = new Map()
    let after: string | undefined
    do {
      const page = await tasks.listRunningDispatches(after === undefined ? {} : { after })
      for (const dispatch of page.items) {
        const key = JSON.stringify([dispatch.task, dispatch.n, dispatch.attempts])
        const lease = dispatch.leaseUntil?.getTime() ?? 0
        const known = before.get(key)
        const since = known?.lease === lease ? known.since : now
        const isAbandoned =
          (dispatch.holder !== null && source.isDead(dispatch.holder)) || now - since >= leaseMs
        const reclaimed = isAbandoned ? await tasks.reclaimDispatch(dispatch) : null
        if (reclaimed) ended.push(reclaimed)
        else next.set(key, { lease, since })
      }
      after = page.next ?? undefined
    } while (after !== undefined)
    seen = next
    return ended
  }
}

/** Why a running dispatch has to stop. `lost`: another worker has it. */
export type StopReason = 'cancelled' | 'lost'

/** Renews a claim until `done` is aborted, and calls `stop` once if the dispatch has to stop. A store that
 *  cannot be reached is tried again: the work continues meanwhile. */
export async function keepClaim(
  tasks: Pick<TaskKeeper, 'renewDispatch'>,
  claim: DispatchClaim,
  source: DispatchSource,
  done: AbortSignal,
  events: { stop(reason: StopReason): void; trouble(what: string, error: unknown): void },
): Promise<void> {
  let isCancelled = false
  for (let pauseMs = leaseMs / 6; ; ) {
    await wait(pauseMs, source, done)
    if (done.aborted) return
    try {
      const { cancelRequested } = await tasks.renewDispatch(claim)
      pauseMs = leaseMs / 6
      if (!cancelRequested || isCancelled) continue
      isCancelled = true
      events.stop('cancelled')
    } catch (error) {
      if (error instanceof ExpiredError || error instanceof NotFoundError) return events.stop('lost')
      events.trouble('renew the claim', error)
      pauseMs = 1_000
    }
  }
}

/** Errors of a store that may pass. */
function isPassing(error: unknown): boolean {
  return (
    error instanceof SkeinError && ['unavailable', 'outcome_unknown', 'storage_full'].includes(error.code)
  )
}

/** How long an operation is repeated. */
export interface PersistOptions {
  readonly withinMs: number
  /** Called for each failure that is followed by another attempt. */
  readonly trouble: (error: unknown) => void
  /** Ends the attempts with the last error. */
  readonly signal?: AbortSignal
}

/** Repeats an operation of the store while it cannot be reached. */
export async function persist<T>(
  work: () => Promise<T>,
  source: DispatchSource,
  { withinMs, trouble, signal }: PersistOptions,
): Promise<T> {
  const start = source.elapsed()
  for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, 2_000)) {
    try {
      return await work()
    } catch (error) {
      if (!isPassing(error) || signal?.aborted || source.elapsed() - start >= withinMs) throw error
      trouble(error)
    }
    await wait(pauseMs, source, signal)
  }
}
