import { all, type Program } from '../../engine/engine.ts'
import type { MessageSpan, UnindexedNewestRow } from '../../engine/rows.ts'
import type { SearchFilters } from './search.ts'

/** How many unindexed messages a search reads. */
const mostScanned = 2_000

/** How many of them may be of one conversation, as long as others have some: a long import must not hide what
 *  was said elsewhere a moment ago. */
const mostOfOne = 500

/** Conversations to look at. There are more only after a large import. */
const mostConversations = 5_000

/** What a search reads besides the index. */
export interface UnindexedMessages {
  /** The newest messages that are not in the index, at most 2,000. */
  readonly spans: readonly MessageSpan[]
  /** The number of the others, of those conversations. */
  readonly unindexed: number
}

/** Chooses which unindexed messages to search: the newest of the conversations that were changed last. */
export function* chooseUnindexed(filters: SearchFilters): Program<UnindexedMessages> {
  const rows = yield* all('unindexedNewest', { limit: mostConversations })
  const wanted = rows
    .filter(row => isInScope(row, filters))
    .toSorted((a, b) => b.updated_at - a.updated_at)
    .map(row => ({ row, size: row.next_seq - row.indexed_seq, taken: 0 }))
  let left = mostScanned
  for (const most of [mostOfOne, mostScanned]) {
    for (const one of wanted) {
      const more = Math.min(left, Math.min(one.size, most) - one.taken)
      one.taken += more
      left -= more
    }
  }
  const total = wanted.reduce((sum, { size }) => sum + size, 0)
  return {
    spans: wanted
      .filter(({ taken }) => taken > 0)
      .map(({ row: { conv, next_seq }, taken }) => ({ conv, lo: next_seq - taken, hi: next_seq - 1 })),
    unindexed: total - (mostScanned - left),
  }
}

function isInScope({ conv, directory, kind }: UnindexedNewestRow, filters: SearchFilters): boolean {
  if (filters.conv !== null && conv !== filters.conv) return false
  if (filters.kind !== null && kind !== filters.kind) return false
  return filters.directories === null || (directory !== null && filters.directories.includes(directory))
}
