import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { Page, PageOptions } from '../../core/listing.ts'
import type { RunStart, Stretch } from '../../core/runs.ts'
import { all, type Program } from '../engine/engine.ts'
import type { Conv } from '../engine/rows.ts'
import type { StretchRow } from '../engine/statements-structure.ts'
import { storedDate } from '../engine/stored-fields.ts'
import { defaultLimit, numberAfter, pageOf } from './cursor.ts'
import { convOf } from './lookup.ts'

/** The tree as stretches without forks, for a viewer. Reads no body. The cursor is the last seq of a page.
 *  The stretch that ends there never grows, so the next page begins after it, even if messages are written or
 *  deleted meanwhile. A statement reads at most `batch` stretches. */
export function* listStretches(
  id: ConversationId,
  page: PageOptions,
  batch = Number.POSITIVE_INFINITY,
): Program<Page<Stretch>> {
  const conv = yield* convOf(id)
  const { limit = defaultLimit } = page
  const found: StretchRow[] = []
  for (let after = numberAfter(page, -1); ; after = found.at(-1)!.last_seq) {
    const wanted = Math.min(limit + 1 - found.length, batch)
    const rows = yield* all('stretches', { conv, after, limit: wanted })
    found.push(...rows)
    if (rows.length < wanted || found.length > limit) break
  }
  return pageOf(found, page, stretchFromRow, ({ last_seq }) => [last_seq])
}

function stretchFromRow(row: StretchRow): Stretch {
  return {
    first: row.first_id as MessageId,
    last: row.last_id as MessageId,
    firstSeq: row.first_seq,
    lastSeq: row.last_seq,
    parent: row.parent_seq < 0 ? null : (row.parent_id as MessageId),
    parentSeq: row.parent_seq < 0 ? null : row.parent_seq,
    messages: row.last_seq - row.first_seq + 1,
    tokens: row.path_tokens - row.before_tokens,
    startedAt: storedDate(row.first_at, 'time', `message ${row.first_id}`),
    endedAt: storedDate(row.last_at, 'time', `message ${row.last_id}`),
  }
}

/** Starts of runs to read at a time. */
const startBatch = 10_000

/** The starts of all runs at or after a seq, ascending. */
export function* runStarts(conv: Conv, from: number): Program<RunStart[]> {
  const starts: RunStart[] = []
  for (let last = { seq: -1, parent_seq: -1 }; ; ) {
    const rows = yield* all('runStarts', { conv, from, ...last, limit: startBatch })
    for (const row of rows) starts.push({ seq: row.seq, parentSeq: row.parent_seq })
    if (rows.length < startBatch) break
    last = rows.at(-1)!
  }
  return starts.sort((a, b) => a.seq - b.seq)
}
