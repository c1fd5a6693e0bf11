import { all, type Program } from '../../engine/engine.ts'
import type { RawConversationRow, RawMessageRow, VerifyStatements } from '../../engine/statements-verify.ts'
import type { Findings } from './findings.ts'

type Tombstone = VerifyStatements['rawTombstones'][1]

const page = 1_000

/** Goes along the messages in order of seq and looks at what lies between them: every seq is a message's or a
 *  tombstone's, and none is both. */
export interface GapWalk {
  at(row: RawMessageRow): Program<void>
  end(): Program<void>
}

export function walkGaps({ conv, next_seq }: RawConversationRow, findings: Findings): GapWalk {
  let waiting: readonly Tombstone[] = []
  let [next, above, isLast, reached] = [0, -1, false, -1]
  return { at, end }

  function* at({ seq, id }: RawMessageRow): Program<void> {
    if (seq <= reached) {
      findings.add('damage', 'two messages have one place', { message: id, seq })
      return
    }
    const buried = yield* tombstonesUpTo(seq)
    if (buried.at(-1)?.seq === seq)
      findings.add('repairable', 'it has a tombstone, and is there', { message: id, seq })
    complain(buried, seq)
    reached = seq
  }

  function* end(): Program<void> {
    const buried = yield* tombstonesUpTo(Number.POSITIVE_INFINITY)
    const last = Math.max(reached, buried.at(-1)?.seq ?? -1)
    complain(buried, Math.max(last + 1, next_seq))
    if (last >= next_seq)
      findings.add('repairable', `the next seq is said to be ${next_seq}, and ${last} is there already`)
  }

  /** Says which seqs above what was reached and below `seq` are nobody's. */
  function complain(buried: readonly Tombstone[], seq: number): void {
    let from = reached + 1
    for (const tombstone of buried) {
      missing(from, Math.min(tombstone.seq, seq) - 1)
      if (tombstone.parent_seq >= tombstone.seq)
        findings.add('repairable', 'a tombstone hangs on what came after it', { seq: tombstone.seq })
      from = Math.max(from, tombstone.seq + 1)
    }
    missing(from, seq - 1)
  }

  function missing(lo: number, hi: number): void {
    if (lo > hi) return
    const which = lo === hi ? 'a message is missing' : `${hi - lo + 1} messages are missing, up to seq ${hi}`
    findings.add('damage', `${which}, without a tombstone`, { seq: lo })
  }

  function* tombstonesUpTo(seq: number): Program<readonly Tombstone[]> {
    const taken: Tombstone[] = []
    for (;;) {
      if (next >= waiting.length) {
        if (isLast) return taken
        waiting = yield* all('rawTombstones', { conv, above, limit: page })
        next = 0
        isLast = waiting.length < page
        if (waiting.length === 0) return taken
        above = waiting.at(-1)!.seq
      }
      const tombstone = waiting[next]!
      if (tombstone.seq > seq) return taken
      next++
      taken.push(tombstone)
    }
  }
}
