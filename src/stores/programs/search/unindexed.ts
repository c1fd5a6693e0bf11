import { all, first, later, type Program } from '../../engine/engine.ts'
import type { MessageSpan, SpanRow, UnindexedNewestRow } from '../../engine/rows.ts'
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
  return choose(yield* all('unindexedNewest', { limit: mostConversations }), filters)
}

/** Unindexed messages to read before it is known how many there are. */
const mostAhead = 250

/** What a search begins with, before it is known which conversations it searches. */
export interface ReadAhead<T> {
  readonly conversations: readonly UnindexedNewestRow[]
  /** Unindexed messages. Null if there are too many to read them ahead. */
  readonly messages: readonly SpanRow[] | null
  /** The first candidates of the index; null if they are not read ahead. */
  readonly candidates: T | null
}

/** Reads the unindexed messages, if they are few, and the first candidates, all in one request. Statements
 *  run in this order, so a message that another process indexes meanwhile is in one of the results at
 *  least. */
export function* readAhead<T>(firstCandidates: () => Program<T> | null): Program<ReadAhead<T>> {
  const conversations = yield* later('unindexedNewest', { limit: mostConversations })
  const messages = yield* later('unindexedMessages', { limit: mostAhead + 1 })
  const reading = firstCandidates()
  // The rows can be read after the next statement.
  if (reading === null) yield* first('indexForm', {})
  const candidates = reading === null ? null : yield* reading
  const isComplete = messages().length <= mostAhead
  return { conversations: conversations(), messages: isComplete ? messages() : null, candidates }
}

/** Chooses which of the unindexed messages to search, and those that have been read. */
export function chooseAhead(
  { conversations, messages }: Omit<ReadAhead<unknown>, 'candidates'>,
  filters: SearchFilters,
): UnindexedMessages & { readonly scanned: readonly SpanRow[] | null } {
  const chosen = choose(conversations, filters)
  const spanOf = new Map(chosen.spans.map(span => [span.conv, span]))
  const isChosen = ({ conv, seq }: SpanRow) => {
    const span = spanOf.get(conv)
    return span !== undefined && seq >= span.lo && seq <= span.hi
  }
  return { ...chosen, scanned: messages?.filter(isChosen) ?? null }
}

function choose(rows: readonly UnindexedNewestRow[], filters: SearchFilters): UnindexedMessages {
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
  if (filters.convs !== null && !filters.convs.has(conv)) return false
  if (filters.kind !== null && kind !== filters.kind) return false
  return filters.directories === null || (directory !== null && filters.directories.includes(directory))
}
