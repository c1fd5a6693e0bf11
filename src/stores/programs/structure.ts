import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { Page, PageOptions } from '../../core/listing.ts'
import type { Stretch } from '../../core/runs.ts'
import { type RunStart, splitAtForks } from '../../core/runs.ts'
import { all, type Program } from '../engine/engine.ts'
import type { Conv } from '../engine/rows.ts'
import { defaultLimit, numberAfter, pageOf } from './cursor.ts'
import { needConversation } from './lookup.ts'

/** The tree as stretches without forks, for a viewer. Reads no body. */
export function* listStretches(id: ConversationId, page: PageOptions): Program<Page<Stretch>> {
  const { conv, next_seq } = yield* needConversation(id)
  const { limit = defaultLimit } = page
  const from = numberAfter(page, -1)
  const stretches = splitAtForks(yield* runStarts(conv), next_seq)
  const ends = yield* all('stretchEnds', { conv, stretches: stretches.map(({ lo, hi }) => ({ lo, hi })) })
  const byStart = new Map(ends.map(row => [row.lo, row]))
  const idOfEnd = new Map(ends.map(row => [row.last_seq, row.last_id]))
  const runs: Stretch[] = []
  for (const { lo, parentSeq } of stretches) {
    const row = byStart.get(lo)
    // All of it was deleted.
    if (!row) continue
    runs.push({
      first: row.first_id as MessageId,
      last: row.last_id as MessageId,
      firstSeq: lo,
      lastSeq: row.last_seq,
      // A message with a child ends a stretch, so every parent is an end.
      parent: parentSeq < 0 ? null : (idOfEnd.get(parentSeq)! as MessageId),
      parentSeq: parentSeq < 0 ? null : parentSeq,
      messages: row.last_seq - lo + 1,
      tokens: row.path_tokens - row.before_tokens,
      startedAt: new Date(row.first_at),
      endedAt: new Date(row.last_at),
    })
  }
  const rest = runs.filter(({ firstSeq }) => firstSeq > from).slice(0, limit + 1)
  return pageOf(
    rest,
    page,
    stretch => stretch,
    ({ firstSeq }) => [firstSeq],
  )
}

export function* runStarts(conv: Conv): Program<RunStart[]> {
  const rows = yield* all('runStarts', { conv })
  return rows.map(row => ({ seq: row.seq, parentSeq: row.parent_seq })).sort((a, b) => a.seq - b.seq)
}
