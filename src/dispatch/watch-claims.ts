import type { Dispatch, TaskKeeper } from '../core/task.ts'
import { leaseMs } from '../core/turn.ts'
import type { DispatchSource } from './dispatch-source.ts'

/** Finds claims of dead workers, and ends them. A claim is abandoned if its process was on this host and is
 *  surely dead, or if this watch has seen it for the length of a lease without a renewal. It compares no
 *  times of other machines and reads no clock that can be set, so a clock that jumps ends no claim. */
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
