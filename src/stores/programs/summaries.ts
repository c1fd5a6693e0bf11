import { ExpiredError, type Holder, InvalidError } from '../../core/errors.ts'
import { sha256Hex } from '../../core/hash.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { OrderedPageOptions, Page } from '../../core/listing.ts'
import { containsSeq } from '../../core/runs.ts'
import type { MessageRange, NewSummary, Summary, SummaryClaim } from '../../core/summary.ts'
import { hasRunOut } from '../../core/turn.ts'
import { all, first, type Program, run } from '../engine/engine.ts'
import { heldByAnother, holderText, summaryFromRow } from '../engine/row-to-value.ts'
import type { LocatedRow } from '../engine/rows.ts'
import { aboveAll, defaultLimit, pageOf, readCursor } from './cursor.ts'
import { convOf, lockLiving, needMessageIn } from './lookup.ts'
import type { LeaseTime } from './turns.ts'

export function* listSummaries(id: ConversationId, options: OrderedPageOptions): Program<Page<Summary>> {
  const conv = yield* convOf(id)
  const { limit = defaultLimit, order = 'ascending', after } = options
  const isUp = order === 'ascending'
  const start = isUp ? -1 : aboveAll
  const [last_seq, first_seq] = (
    after === undefined ? [start, start] : readCursor(after, ['seq', 'seq'])
  ) as [number, number]
  const rows = yield* all(isUp ? 'listSummaries' : 'listSummariesDown', {
    conv,
    last_seq,
    first_seq,
    limit: limit + 1,
  })
  return pageOf(
    rows,
    options,
    row => summaryFromRow(id, row),
    row => [row.last_seq, row.first_seq],
  )
}

/** Claims a range, unless it has a summary or another process has claimed it. */
export function* claimSummary(
  id: ConversationId,
  range: MessageRange,
  holder: Holder,
  { now, leaseMs }: LeaseTime,
): Program<SummaryClaim> {
  const { conv } = yield* lockLiving(id)
  const { first: from, last: to } = yield* needRange(id, range)
  const stored = yield* first('summary', { conv, first_seq: from.seq, last_seq: to.seq })
  if (stored && stored.text !== null) return { claimed: false, summary: summaryFromRow(id, stored) }
  const me = holderText(holder)
  if (stored?.holder && stored.holder !== me && !hasRunOut(stored.lease_until, now)) {
    throw heldByAnother('the range', stored)
  }
  yield* run('claimSummary', {
    conv,
    first_seq: from.seq,
    last_seq: to.seq,
    first_id: from.id,
    last_id: to.id,
    holder: me,
    lease_until: now + leaseMs,
    now,
  })
  return { claimed: true }
}

/** Stores the summary of a claimed range. */
export function* putSummary(id: ConversationId, summary: NewSummary, now: number): Program<Summary> {
  const { conv } = yield* lockLiving(id)
  const { first: from, last: to, ranges } = yield* needRange(id, summary)
  const span = { conv, first_seq: from.seq, last_seq: to.seq }
  const claim = yield* first('summary', span)
  const mine = claim?.text === null && claim.holder === holderText(summary.holder)
  if (!mine || (claim.lease_until ?? 0) <= now)
    throw new ExpiredError('the range is not claimed, or no longer')
  const ids: string[] = []
  for (const { lo, hi } of ranges) {
    for (const row of yield* all('idsBetween', { conv, lo, hi })) ids.push(row.id)
  }
  yield* run('putSummary', {
    ...span,
    model: summary.model ?? null,
    tokens: summary.tokens,
    text: summary.text,
    checksum: sha256Hex(ids.map(id => `${id}\n`).join('')),
    now,
  })
  yield* run('bumpVersion', { conv })
  return summaryFromRow(id, (yield* first('summary', span))!)
}

/** Both ends, and the ranges between them, oldest first. Throws if the first is not an ancestor of the
 *  last. */
function* needRange(
  id: ConversationId,
  range: MessageRange,
): Program<{ first: LocatedRow; last: LocatedRow; ranges: { lo: number; hi: number }[] }> {
  const from = yield* needMessageIn(id, range.first)
  const to = yield* needMessageIn(id, range.last)
  const runs = yield* all('pathRuns', { conv: to.conv, seq: to.seq })
  if (!containsSeq(runs, from.seq)) {
    throw new InvalidError('range', `${range.first} is not on the path of ${range.last}`)
  }
  const ranges = runs
    .filter(({ hi }) => hi >= from.seq)
    .map(({ lo, hi }) => ({ lo: Math.max(lo, from.seq), hi }))
    .reverse()
  return { first: from, last: to, ranges }
}
