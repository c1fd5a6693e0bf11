import type { TurnRequest } from './open-turn.ts'
import type { PathPosition, TurnReport } from './recording.ts'
import type { TurnWrites } from './turn-writes.ts'
import { addWaitingTurn, type WaitingTurn } from './waiting-turns.ts'
import type { WriteQueue } from './write-queue.ts'

/** The report of an ended turn. If writes are still queued, the turn is kept in `waiting-turns` until they
 *  are stored: the next turn on the branch is stored after it, and has its messages in the context. */
export function turnReport(
  request: TurnRequest,
  queue: WriteQueue,
  writes: TurnWrites,
  position: () => Promise<PathPosition>,
  status: () => TurnReport['status'],
): TurnReport {
  const report = now()
  if (!queue.isRetrying) return report
  const whenSaved = queue.settled.then(now)
  const begun = queue.outage!
  const waiting: WaitingTurn = {
    get outage() {
      return queue.outage ?? begun
    },
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
  addWaitingTurn(request.store, waiting)
  return { ...report, whenSaved }

  function now(): TurnReport {
    const { unsaved, lost } = queue
    return {
      status: status(),
      branch: writes.position?.branch ?? request.ref,
      head: writes.position?.head ?? request.after?.head ?? null,
      saved: unsaved.length === 0 && lost === 0,
      unsaved,
      ...(lost > 0 && { lost }),
    }
  }
}
