import { setTimeout as pause } from 'node:timers/promises'
import type { TraceEvent } from '../../core/event.ts'
import type { ConversationId } from '../../core/ids.ts'
import { itemsOf } from '../../core/pages.ts'
import type { MessageReader } from '../../core/ports.ts'
import type { Turn } from '../../core/turn.ts'
import type { TurnWriter } from '../../core/turn-writer.ts'

/** What reading stop requests needs. */
export type StopRequestReader = Pick<MessageReader, 'listEvents'>

/** The requests of other processes to stop one turn. They are trace events of its conversation. */
export interface StopRequests {
  /** Ignores the requests of an earlier attempt with the same key. */
  skipEarlier(): Promise<void>
  /** Whether there is a new request. False also if the store cannot be read. */
  hasNew(): Promise<boolean>
}

/** How often a process looks for requests to stop its turns. */
export const stopPollMs = 500

/** Reads the stop requests of a turn. Each look reads the newest events, as far as they are new. */
export function stopRequests(store: StopRequestReader, id: ConversationId, key: string): StopRequests {
  let next = 0

  /** Whether one of the events from `next` on is a request. */
  async function look(): Promise<boolean> {
    let isRequested = false
    let end = next
    for await (const { n, type, data } of newestFirst()) {
      if (n < next) break
      end = Math.max(end, n + 1)
      isRequested ||= type === 'stop_requested' && data.turn === key
    }
    next = end
    return isRequested
  }

  function newestFirst(): AsyncIterable<TraceEvent> {
    return itemsOf(page => store.listEvents(id, { order: 'descending', limit: 20, ...page }))
  }

  return {
    async skipEarlier() {
      for await (const { n } of newestFirst()) {
        next = n + 1
        return
      }
    },
    async hasNew() {
      try {
        return await look()
      } catch {
        // The store is away. The next look reads the same events.
        return false
      }
    },
  }
}

/** How often a request looks whether the turn has ended. */
const lookMs = 100

/** Asks the process that has a turn to stop it. The request also marks the turn as stopped by a client, so
 *  that a retry of its key does not ask the model again: see `isStopped`. A complete turn stays as it is. */
export async function requestStop(
  store: StopRequestReader & Pick<MessageReader, 'findTurn'> & Pick<TurnWriter, 'addEvents'>,
  id: ConversationId,
  key: string,
): Promise<void> {
  const turn = await store.findTurn(id, key)
  if (turn === null || turn.status === 'complete' || (await isStopped(store, turn))) return
  await store.addEvents(id, [{ type: 'stop_requested', data: { turn: key } }])
}

/** Whether a client has stopped the turn. A turn that ended by a crash, a shutdown or a failure was not. */
export async function isStopped(store: StopRequestReader, turn: Turn): Promise<boolean> {
  if (turn.status === 'open' || turn.status === 'complete') return false
  const requests = itemsOf(page =>
    store.listEvents(turn.conversationId, { types: ['stop_requested'], order: 'descending', ...page }),
  )
  for await (const { data } of requests) if (data.turn === turn.key) return true
  return false
}

/** Waits until a requested stop has happened. Returns the turn as it is then, which is open if its process
 *  did not stop it in time: only services look for requests. */
export async function whenStopped(
  store: Pick<MessageReader, 'findTurn'>,
  id: ConversationId,
  key: string,
  { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<Turn | null> {
  const until = performance.now() + waitMs
  for (;;) {
    const turn = await store.findTurn(id, key)
    if (turn?.status !== 'open' || performance.now() > until || signal.aborted) return turn
    await pause(lookMs)
  }
}
