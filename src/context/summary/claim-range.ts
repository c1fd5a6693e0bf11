import { BusyError, type Holder } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { MessageRange, Summary } from '../../core/summary.ts'
import type { TurnWriter } from '../../core/turn-writer.ts'
import type { RecorderSource } from '../../system/source.ts'

/** The outcome of a claim. */
export type RangeClaim =
  | {
      readonly state: 'claimed'
      /** Aborted with the caller's reason, or with a BusyError if the claim is lost. */
      readonly signal: AbortSignal
      /** Stops renewing the claim. */
      end(): void
    }
  | { readonly state: 'made'; readonly summary: Summary }
  | { readonly state: 'busy'; readonly error: BusyError }

/** Conversations that this process is summarizing: a claim distinguishes processes, not two calls of one
 *  process. */
const running = new WeakMap<object, Set<ConversationId>>()

/** Claims a range for summarizing and renews the claim until `end`, so that no other process summarizes it,
 *  or another range of the same root: besides the range, the root alone is claimed, as a lock that never gets
 *  a summary. A claim cannot be returned; others wait until it expires, at most 30 seconds, and then find the
 *  summary. */
export async function claimRange(
  store: Pick<TurnWriter, 'claimSummary' | 'leaseMs'>,
  id: ConversationId,
  range: MessageRange,
  { holder, after, signal }: { holder: Holder; after: RecorderSource['after']; signal?: AbortSignal },
): Promise<RangeClaim> {
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

  async function claimBoth(): Promise<Exclude<RangeClaim, { state: 'claimed' }> | null> {
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

  function kept(): RangeClaim {
    const lost = new AbortController()
    let ended = false
    let cancel = after(store.leaseMs / 3, renew, { idle: true })
    return {
      state: 'claimed',
      signal: signal ? AbortSignal.any([signal, lost.signal]) : lost.signal,
      end() {
        ended = true
        cancel()
        here.delete(id)
      },
    }

    function renew(): void {
      claimBoth().then(
        found => {
          if (found) lost.abort(found.state === 'busy' ? found.error : new BusyError('the range', null, null))
          else again()
        },
        // Storage fails. The claim may still be valid; storing the summary will show.
        again,
      )
    }
    function again(): void {
      if (!ended) cancel = after(store.leaseMs / 3, renew, { idle: true })
    }
  }
}
