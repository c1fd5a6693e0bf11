import type { ConversationId } from '../../../core/ids.ts'
import { all, first, type Program } from '../../engine/engine.ts'
import type { BranchRow, ConversationRow, LinkRow } from '../../engine/rows.ts'
import type { TurnRecordRow } from '../../engine/statements-records.ts'

/** What of a conversation changes in place: read at one moment, so that a writer at work does not tear it. */
export interface RecordOutline {
  readonly row: ConversationRow
  readonly branches: readonly BranchRow[]
  readonly links: readonly LinkRow[]
  /** Open turns, each with what had arrived of its answer. A person has a few at most. */
  readonly open: readonly OpenTurn[]
}

export interface OpenTurn {
  readonly turn: TurnRecordRow
  readonly pieces: readonly { readonly n: number; readonly type: string; readonly text: string }[]
}

/** Null if there is none, or if it is being purged. */
export function* readOutline(id: ConversationId): Program<RecordOutline | null> {
  const row = yield* first('conversationById', { id })
  if (!row || row.purging === 1) return null
  const { conv } = row
  const branches = yield* all('branches', { conv })
  const links = yield* all('linkRecords', { conv })
  const open: OpenTurn[] = []
  for (const turn of yield* all('openTurns', { conv })) {
    const [first_id, last_id] = [yield* idAt(turn.first), yield* idAt(turn.last)]
    open.push({
      turn: { ...turn, first_id, last_id },
      pieces: yield* all('drafts', { conv, turn: turn.key }),
    })
  }
  return { row, branches, links, open }

  function* idAt(seq: number): Program<string | null> {
    return (yield* first('idsBetween', { conv, lo: seq, hi: seq }))?.id ?? null
  }
}

/** Branches as they are now whose heads were deleted since the outline was read, by name; the others are as they were. */
export function* readMovedBranches({
  row,
  branches,
}: RecordOutline): Program<ReadonlyMap<string, BranchRow | null>> {
  const { conv, next_seq } = row
  const moved = new Map<string, BranchRow | null>()
  const seqs = branches.filter(branch => branch.head_seq >= 0).map(branch => branch.head_seq)
  const living = new Set((yield* all('placesAt', { conv, seqs })).map(place => place.seq))
  for (const { name, head_seq } of branches) {
    if (head_seq < 0 || living.has(head_seq)) continue
    const now = yield* first('branch', { conv, name })
    moved.set(name, now && now.head_seq < next_seq ? now : null)
  }
  return moved
}
