import { ExpiredError } from '../core/errors.ts'
import type { ConversationId } from '../core/ids.ts'
import { collectPages } from '../core/pages.ts'
import type { MessageReader } from '../core/ports.ts'
import { type EndedTurn, hasRunOut, leaseLimits, type Turn } from '../core/turn.ts'
import type { TurnWriter } from '../core/turn-writer.ts'
import { type RecorderSource, systemRecorderSource } from '../system/source.ts'

/** What `takeOver` asks of the machine. */
export type TakeOverSource = Pick<RecorderSource, 'now' | 'isDead' | 'isVisible' | 'elapsed'>

/** Ends abandoned turns as interrupted. A turn is abandoned if its holder is surely dead, if its lease has
 *  expired and its holder cannot be seen from here, or if this process has seen it for the longest lease
 *  without a renewal. So a clock that is wrong or jumps ends no turn of a process that can be seen to live.
 *  The drafts of answers become their last messages. Returns the turns that were ended here; those that
 *  another process has just ended are not errors. */
export async function takeOver(
  store: Pick<MessageReader, 'listTurns'> & Pick<TurnWriter, 'endTurn'>,
  id: ConversationId,
  branch?: string,
  source: TakeOverSource = systemRecorderSource,
): Promise<readonly EndedTurn[]> {
  const ended: EndedTurn[] = []
  const seen = seenIn(store)
  for (const turn of await collectPages(page => store.listTurns(id, { status: 'open', ...page }))) {
    if (branch !== undefined && turn.branch !== branch) continue
    if (turn.holder === null || !isAbandoned(turn, seen, source)) continue
    try {
      ended.push(await store.endTurn(id, turn.key, { status: 'interrupted', heldBy: turn.holder }))
    } catch (error) {
      if (!(error instanceof ExpiredError)) throw error
    }
  }
  return ended
}

function isAbandoned(turn: Turn, seen: Seen, source: TakeOverSource): boolean {
  const lease = turn.leaseUntil?.getTime() ?? null
  if (turn.holder === null) return hasRunOut(lease, source.now())
  if (source.isDead(turn.holder)) return true
  if (silentMs(turn, seen, source) >= leaseLimits.longest) return true
  return !source.isVisible(turn.holder) && hasRunOut(lease, source.now())
}

/** When this process first saw each open turn with its present lease. */
type Seen = Map<string, { readonly lease: number; readonly since: number }>

const seenByStore = new WeakMap<object, Seen>()

function seenIn(store: object): Seen {
  const known = seenByStore.get(store) ?? new Map()
  seenByStore.set(store, known)
  return known
}

/** Most turns to remember. */
const mostSeen = 1_000

/** How long this process has seen the turn without a renewal. On PostgreSQL the end of a lease is computed
 *  from the clock of the server, so it varies a little between two reads. */
function silentMs(turn: Turn, seen: Seen, source: TakeOverSource): number {
  const key = JSON.stringify([turn.conversationId, turn.key, turn.holder])
  const lease = turn.leaseUntil?.getTime() ?? 0
  const now = source.elapsed()
  const known = seen.get(key)
  if (known && Math.abs(known.lease - lease) < 1_000) return now - known.since
  seen.delete(key)
  seen.set(key, { lease, since: now })
  if (seen.size > mostSeen) seen.delete(seen.keys().next().value!)
  return 0
}
