import type { ConversationId } from '../../../core/ids.ts'
import { all, first, type Program } from '../../engine/engine.ts'
import type { BranchRow, ConversationRow, LinkRow } from '../../engine/rows.ts'
import type { TurnRecordRow } from '../../engine/statements-records.ts'

/** The parts of a conversation that change in place, read in one snapshot. */
export interface RecordOutline {
  readonly row: ConversationRow
  readonly branches: readonly BranchRow[]
  readonly links: readonly LinkRow[]
  /** Open turns, each with its draft. A conversation has few of them. */
  readonly open: readonly OpenTurn[]
}

export interface OpenTurn {
  readonly turn: TurnRecordRow
  readonly pieces: readonly { readonly n: number; readonly type: string; readonly text: string }[]
}

/** Null if the conversation does not exist or is being purged. */
export function* readOutline(id: ConversationId): Program<RecordOutline | null> {
  const row = yield* first('conversationById', { id })
  if (!row || row.purging === 1) return null
  const { conv } = row
  const branches = yield* all('branches', { conv })
  const links = yield* all('linkRecords', { conv })
  const open: OpenTurn[] = []
  for (const turn of yield* all('openTurnRecords', { conv })) {
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

/** The current state of branches whose heads were deleted since the outline was read, by name. All other
 *  branches are as in the outline. */
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
