import type { ConversationId } from '../../../core/ids.ts'
import { all, type Program } from '../../engine/engine.ts'
import { turnFromRow } from '../../engine/row-to-value.ts'
import type { TurnRow } from '../../engine/rows.ts'
import type { RawConversationRow, RawMessageRow } from '../../engine/statements-verify.ts'
import { checkReadable, type FindingList, subjectOf } from './findings.ts'

/** Turns to read at a time: for each page, the engine sorts all turns of the conversation. */
const page = 5_000

const statuses: readonly string[] = ['open', 'complete', 'interrupted', 'failed']

interface UnderWay {
  readonly turn: TurnRow
  lastSeen: number
}

/** Walks the messages in order of seq and compares them with their turns. Holds only turns that overlap. */
export interface TurnWalk {
  /** The turn of a message, if the message names one and that is correct. */
  at(row: RawMessageRow): Program<TurnRow | null>
  end(): Program<void>
}

export function walkTurns({ conv, id }: RawConversationRow, findings: FindingList): TurnWalk {
  const underWay = new Map<number, UnderWay>()
  let waiting: readonly TurnRow[] = []
  let [next, above, isLast] = [0, -1, false]
  return { at, end }

  function* at(row: RawMessageRow): Program<TurnRow | null> {
    yield* goTo(row.seq)
    if (row.turn === null) return null
    const about = subjectOf(row)
    const found = underWay.get(row.turn)
    if (!found) {
      findings.add(
        'repairable',
        `it says that it belongs to a turn at seq ${row.turn}, which is not there`,
        about,
      )
      return null
    }
    found.lastSeen = row.seq
    if (row.step !== null && row.step > found.turn.last_step)
      findings.add(
        'repairable',
        `its step ${row.step} is above the turn's last, ${found.turn.last_step}`,
        about,
      )
    return found.turn
  }

  function* end(): Program<void> {
    yield* goTo(Number.POSITIVE_INFINITY)
  }

  /** Adds the turns that begin up to this seq, and finishes those that ended before it. */
  function* goTo(seq: number): Program<void> {
    for (;;) {
      if (next >= waiting.length) {
        if (isLast) break
        waiting = yield* all('rawTurns', { conv, above, limit: page })
        next = 0
        isLast = waiting.length < page
        if (waiting.length === 0) break
        above = waiting.at(-1)!.first
      }
      const turn = waiting[next]!
      if (turn.first > seq) break
      next++
      checkFields(turn)
      underWay.set(turn.first, { turn, lastSeen: -1 })
    }
    for (const [first, { turn, lastSeen }] of underWay) {
      if (turn.last >= seq) continue
      underWay.delete(first)
      if (lastSeen !== turn.last) yield* missingLast(turn)
    }
  }

  function checkFields(turn: TurnRow): void {
    checkReadable(findings, () => turnFromRow(id as ConversationId, turn))
    if (turn.last < turn.first) complain(turn, 'ends before it begins')
    if (!statuses.includes(turn.status)) complain(turn, `has the status ${JSON.stringify(turn.status)}`)
    if ((turn.status === 'open') !== (turn.ended_at === null))
      complain(turn, 'is open and has ended, or neither')
  }

  /** The last message was deleted, which is valid, or it exists and belongs to another turn. */
  function* missingLast(turn: TurnRow): Program<void> {
    const [place] = yield* all('rawPlaces', { conv, seqs: [turn.last] })
    if (place) complain(turn, `should end with seq ${turn.last}, which does not belong to it`)
  }

  function complain(turn: TurnRow, what: string): void {
    findings.add('repairable', `turn ${JSON.stringify(turn.key)} ${what}`, { seq: turn.first })
  }
}
