import { BusyError, type Holder } from '../core/errors.ts'
import type { ConversationId } from '../core/ids.ts'
import type { TurnWriter } from '../core/ports.ts'
import type { MessageRange, Summary } from '../core/summary.ts'
import { leaseMs } from '../core/turn.ts'

/** Calls `run` once, later, and returns how to call it off. An `idle` one does not keep the process alive. */
export type Later = (ms: number, run: () => void, options?: { readonly idle?: boolean }) => () => void

/** What came of asking for a range. */
export type Claim =
  | {
      readonly state: 'claimed'
      /** Aborted with the caller's reason, or with a BusyError when the claim was lost. */
      readonly signal: AbortSignal
      /** To be called when done: the claim is renewed no more. */
      end(): void
    }
  | { readonly state: 'made'; readonly summary: Summary }
  | { readonly state: 'busy'; readonly error: BusyError }

/** Conversations that this process is summarising: a claim tells processes apart, not two calls of one process. */
const running = new WeakMap<object, Set<ConversationId>>()

/** Takes a range to be summarised and keeps it until it is ended, so that nobody else summarises it meanwhile, nor
 *  another range of the same root: besides the range itself the root alone is claimed, as a lock that is never
 *  filled. As a claim cannot be given back, others wait for it until it runs out, 30 seconds at most; by then the
 *  summary is there to be read. */
export async function claimRange(
  store: Pick<TurnWriter, 'claimSummary'>,
  id: ConversationId,
  range: MessageRange,
  { holder, after, signal }: { holder: Holder; after: Later; signal?: AbortSignal },
): Promise<Claim> {
  const here = running.get(store) ?? new Set()
  running.set(store, here)
  if (here.has(id)) return { state: 'busy', error: new BusyError('the conversation', holder, null) }
  here.add(id)
  try {
    const found = await claimBoth()
    if (found) here.delete(id)
    return found ?? kept()
  } catch (error) {
    here.delete(id)
    throw error
  }

  async function claimBoth(): Promise<Exclude<Claim, { state: 'claimed' }> | null> {
    try {
      if (range.first !== range.last) {
        await store.claimSummary(id, { first: range.first, last: range.first }, holder)
      }
      const claim = await store.claimSummary(id, range, holder)
      return claim.claimed ? null : { state: 'made', summary: claim.summary }
    } catch (error) {
      if (error instanceof BusyError) return { state: 'busy', error }
      throw error
    }
  }

  function kept(): Claim {
    const lost = new AbortController()
    let ended = false
    let callOff = after(leaseMs / 3, renew, { idle: true })
    return {
      state: 'claimed',
      signal: signal ? AbortSignal.any([signal, lost.signal]) : lost.signal,
      end() {
        ended = true
        callOff()
        here.delete(id)
      },
    }

    function renew(): void {
      claimBoth().then(
        found => {
          if (found) lost.abort(found.state === 'busy' ? found.error : new BusyError('the range', null, null))
          else again()
        },
        // The storage fails: the claim may still hold, and storing the summary will tell.
        again,
      )
    }
    function again(): void {
      if (!ended) callOff = after(leaseMs / 3, renew, { idle: true })
    }
  }
}
