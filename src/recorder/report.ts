import type { Opening } from './opening.ts'
import type { WriteQueue } from './queue.ts'
import type { PathPosition, TurnReport } from './recording.ts'
import type { TurnWrites } from './turn-writes.ts'
import { addWaitingTurn, type WaitingTurn } from './waiting-turns.ts'

/** How a turn ended. If writes still wait, the turn is kept in `waiting-turns` until they are stored: the
 *  next turn on the branch is stored behind it and has its messages in the context. */
export function reportOf(
  opening: Opening,
  queue: WriteQueue,
  writes: TurnWrites,
  position: () => Promise<PathPosition>,
  status: () => TurnReport['status'],
): TurnReport {
  const report = now()
  if (!queue.isRetrying) return report
  const whenSaved = queue.settled.then(now)
  const waiting: WaitingTurn = {
    outage: queue.outage!,
    settled: whenSaved,
    reportedHead: report.head,
    position,
    get branch() {
      return now().branch
    },
    get head() {
      return now().head
    },
    get unsaved() {
      return queue.unsaved
    },
    get characters() {
      return queue.characters
    },
  }
  addWaitingTurn(opening.store, waiting)
  return { ...report, whenSaved }

  function now(): TurnReport {
    const { unsaved, lost } = queue
    return {
      status: status(),
      branch: writes.standing?.branch ?? opening.ref,
      head: writes.standing?.head ?? opening.after?.head ?? null,
      saved: unsaved.length === 0 && lost === 0,
      unsaved,
      ...(lost > 0 && { lost }),
    }
  }
}
