import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { Page, PageOptions } from '../../core/listing.ts'
import { type RunStart, type SeqStretch, type Stretch, splitAtForks } from '../../core/runs.ts'
import { all, type Program } from '../engine/engine.ts'
import type { Conv } from '../engine/rows.ts'
import { storedDate } from '../engine/stored-fields.ts'
import { defaultLimit, numberAfter, pageOf } from './cursor.ts'
import { needConversation } from './lookup.ts'

/** The tree as stretches without forks, for a viewer. Reads no body. The starts of all runs are read for each
 *  page, from an index; everything else only for the stretches of the page. */
export function* listStretches(id: ConversationId, page: PageOptions): Program<Page<Stretch>> {
  const { conv, next_seq } = yield* needConversation(id)
  const { limit = defaultLimit } = page
  const from = numberAfter(page, -1)
  const wanted = splitAtForks(yield* runStarts(conv), next_seq).filter(({ lo }) => lo > from)
  const found: Stretch[] = []
  // Stretches without a message were deleted, so a page may need several parts.
  for (let at = 0; at < wanted.length && found.length <= limit; at += limit + 1) {
    found.push(...(yield* readStretches(conv, wanted.slice(at, at + limit + 1))))
  }
  return pageOf(
    found,
    page,
    stretch => stretch,
    ({ firstSeq }) => [firstSeq],
  )
}

function* readStretches(conv: Conv, ranges: readonly SeqStretch[]): Program<readonly Stretch[]> {
  const ends = yield* all('stretchEnds', { conv, stretches: ranges.map(({ lo, hi }) => ({ lo, hi })) })
  const byStart = new Map(ends.map(row => [row.lo, row]))
  const parentSeqs = [...new Set(ranges.map(({ parentSeq }) => parentSeq).filter(seq => seq >= 0))]
  const parents = parentSeqs.length === 0 ? [] : yield* all('placesAt', { conv, seqs: parentSeqs })
  const idOf = new Map(parents.map(row => [row.seq, row.id]))
  return ranges.flatMap(({ lo, parentSeq }) => {
    const row = byStart.get(lo)
    if (!row) return []
    return {
      first: row.first_id as MessageId,
      last: row.last_id as MessageId,
      firstSeq: lo,
      lastSeq: row.last_seq,
      parent: parentSeq < 0 ? null : (idOf.get(parentSeq)! as MessageId),
      parentSeq: parentSeq < 0 ? null : parentSeq,
      messages: row.last_seq - lo + 1,
      tokens: row.path_tokens - row.before_tokens,
      startedAt: storedDate(row.first_at, 'time', `message ${row.first_id}`),
      endedAt: storedDate(row.last_at, 'time', `message ${row.last_id}`),
    }
  })
}

export function* runStarts(conv: Conv): Program<RunStart[]> {
  const rows = yield* all('runStarts', { conv })
  return rows.map(row => ({ seq: row.seq, parentSeq: row.parent_seq })).sort((a, b) => a.seq - b.seq)
}
