import { ExpiredError } from '../core/errors.ts'
import type { ConversationId } from '../core/ids.ts'
import { collectPages } from '../core/pages.ts'
import type { MessageReader } from '../core/ports.ts'
import { type EndedTurn, hasRunOut, type Turn } from '../core/turn.ts'
import type { TurnWriter } from '../core/turn-writer.ts'
import { type RecorderSource, systemRecorderSource } from '../system/source.ts'

/** Ends abandoned turns as interrupted: those whose lease has expired, and those whose holder was on this
 *  host and is surely dead. The drafts of their answers become their last messages. Turns of living processes
 *  are not touched. Returns the turns that were ended here; those that another process has just ended are not
 *  errors. */
export async function takeOver(
  store: Pick<MessageReader, 'listTurns'> & Pick<TurnWriter, 'endTurn'>,
  id: ConversationId,
  branch?: string,
  source: Pick<RecorderSource, 'now' | 'isDead'> = systemRecorderSource,
): Promise<readonly EndedTurn[]> {
  const ended: EndedTurn[] = []
  for (const turn of await collectPages(page => store.listTurns(id, { status: 'open', ...page }))) {
    if (branch !== undefined && turn.branch !== branch) continue
    if (turn.holder === null || !isAbandoned(turn, source)) continue
    try {
      ended.push(await store.endTurn(id, turn.key, { status: 'interrupted', heldBy: turn.holder }))
    } catch (error) {
      if (!(error instanceof ExpiredError)) throw error
    }
  }
  return ended
}

function isAbandoned(turn: Turn, source: Pick<RecorderSource, 'now' | 'isDead'>): boolean {
  if (hasRunOut(turn.leaseUntil?.getTime() ?? null, source.now())) return true
  return turn.holder !== null && source.isDead(turn.holder)
}
