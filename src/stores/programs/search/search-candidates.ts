import { latestTime } from '../../../core/check.ts'
import { matches } from '../../../core/search/match.ts'
import type { SearchQuery } from '../../../core/search/query.ts'
import type { Program } from '../../engine/engine.ts'
import type { CandidateRow } from '../../engine/rows.ts'
import { readTexts } from './search-index.ts'

/** A message that matches a search, with its texts. */
export interface SearchAnswer {
  readonly row: CandidateRow
  readonly texts: readonly string[]
}

/** Messages that may match, from this time or before, newest first. */
export type CandidateSource = (upto: number, limit: number) => Program<readonly CandidateRow[]>

export interface CandidateSources {
  /** The matches of the index. */
  readonly indexed: CandidateSource
  /** The same without the prefixes. Null if the query has none, or if this could take long. */
  readonly withoutPrefixes: CandidateSource | null
}

interface Hunt {
  readonly query: SearchQuery
  readonly wanted: number
  readonly after: readonly (string | number)[] | null
  readonly answers: SearchAnswer[]
  /** Where to continue, or null at the end. */
  upto: number | null
}

/** The newest messages that match, in order, after `after`. */
export function* newestAnswers(
  query: SearchQuery,
  candidates: CandidateSources,
  wanted: number,
  after: readonly (string | number)[] | null,
): Program<readonly SearchAnswer[]> {
  const hunt: Hunt = { query, wanted, after, answers: [], upto: after ? (after[0] as number) : latestTime }
  if (candidates.withoutPrefixes) yield* lookAtNewest(hunt, candidates.withoutPrefixes)
  // What the index decides alone: words and prefixes that must occur, and words that must not.
  const exact = query.all.every(term => !term.check) && query.none.every(term => !term.check && !term.prefix)
  for (let seen = 0, batch = exact ? wanted + 8 : Math.max(wanted * 4, 200); goesOn(hunt); ) {
    seen += yield* take(hunt, candidates.indexed, batch, exact)
    if (!exact) batch = nextBatch(wanted - hunt.answers.length, hunt.answers.length / seen)
  }
  return hunt.answers
}

/** How many more candidates to read, given the share of matches so far. Another query costs as much as
 *  fifty candidates, so a few too many are better than too few. All their texts must fit in memory. */
function nextBatch(missing: number, share: number): number {
  return Math.ceil(Math.min(400, Math.max(50, (missing * 1.25) / share)))
}

/** How many candidates to read before deciding whether a prefix is common. */
const firstLook = 64

/** To return the newest match of a prefix, an index merges the lists of all words with that prefix: a third
 *  of a second for two letters and a million messages. Such a prefix occurs in every other message, so it
 *  is faster to check the newest messages themselves. Stops if the prefix turns out to be rare. */
function* lookAtNewest(hunt: Hunt, source: CandidateSource): Program<void> {
  const { wanted, answers } = hunt
  const most = Math.max(400, wanted * 4)
  for (let seen = 0, batch = firstLook; goesOn(hunt); ) {
    seen += yield* take(hunt, source, batch, false)
    const needed = (wanted * seen) / answers.length
    if (needed > most) return
    batch = Math.max(firstLook, Math.ceil(needed - seen))
  }
}

function goesOn({ answers, wanted, upto }: Hunt): boolean {
  return upto !== null && answers.length < wanted
}

/** Adds the matches among the next candidates and returns the number of candidates. */
function* take(hunt: Hunt, source: CandidateSource, batch: number, exact: boolean): Program<number> {
  const { query, wanted, after, answers } = hunt
  const { rows, next } = yield* nextCandidates(source, hunt.upto!, batch)
  const texts = yield* readTexts(rows)
  for (const [i, row] of rows.entries()) {
    if (answers.length === wanted) break
    const said = texts[i]
    if (!said || (after && compare(orderKey(row), after) <= 0)) continue
    if (exact || matches(said, query)) answers.push({ row, texts: said })
  }
  hunt.upto = next
  return rows.length
}

/** In order. Messages of one millisecond are sorted together, so the last group must be complete. */
function* nextCandidates(
  source: CandidateSource,
  upto: number,
  least: number,
): Program<{ rows: readonly CandidateRow[]; next: number | null }> {
  for (let batch = least; ; batch *= 4) {
    const rows = yield* source(upto, batch)
    if (rows.length < batch) return { rows: inOrder(rows), next: null }
    const edge = rows.at(-1)!.at
    const whole = rows.filter(row => row.at !== edge)
    if (whole.length > 0) return { rows: inOrder(whole), next: edge }
  }
}

function inOrder(rows: readonly CandidateRow[]): readonly CandidateRow[] {
  return rows
    .map(row => ({ row, key: orderKey(row) }))
    .sort((a, b) => compare(a.key, b.key))
    .map(({ row }) => row)
}

/** Newest first. Within a millisecond, the later message of a conversation first. */
export function orderKey(row: CandidateRow): readonly (string | number)[] {
  return [row.at, row.seq, row.conversation_id]
}

function compare(a: readonly (string | number)[], b: readonly (string | number)[]): number {
  if (a[0] !== b[0]) return (b[0] as number) - (a[0] as number)
  if (a[1] !== b[1]) return (b[1] as number) - (a[1] as number)
  return a[2] === b[2] ? 0 : a[2]! < b[2]! ? -1 : 1
}
