import { latestTime } from '../../core/check.ts'
import type { SearchQuery } from '../../core/search/query.ts'
import type { Engine, Program } from '../engine/engine.ts'
import type { CandidateRow } from '../engine/rows.ts'
import type { CandidateSource, SearchPlan } from '../programs/search/search.ts'

/** A position in the order of the hits. */
export type OrderKey = readonly [at: number, seq: number, conversation: string]

/** How many answers to find, after `from` and up to `to`. With `to`, the budget does not end the hunt: an
 *  earlier one has reached it within a budget. */
export interface HuntRange {
  readonly wanted: number
  readonly from: OrderKey | null
  readonly to: OrderKey | null
}

/** Candidates that were read together. */
export interface ReadCandidates {
  readonly rows: readonly CandidateRow[]
  /** Whether there are more. */
  readonly isCut: boolean
}

/** The candidates with which a hunt begins. */
export interface OpeningCandidates {
  readonly first: ReadCandidates
  /** The first matches of prefixes that are not common together. None may mean that they are. */
  readonly rare: ReadCandidates | null
}

/** How many candidates to read before deciding whether a prefix is common. */
export const firstLook = 64

/** Reads the candidates with which the hunt will begin. Null if it begins with a floor. */
export function readOpening(
  engine: Engine,
  query: SearchQuery,
  plan: SearchPlan,
  range: HuntRange,
): Program<OpeningCandidates> | null {
  const { matching, prefixes, isFiltered, isCompared } = plan
  if (isCompared) return null
  const upto = firstTime(range)
  const exact = isExact(query, plan)
  const batch = indexBatch(engine, exact, range.wanted)
  if (prefixes.length === 0 || isFiltered) return readFirst(matching(prefixes), upto, batch)
  if (!exact) return readFirst(matching([]), upto, firstLook)
  return readWithRare(matching([]), matching(prefixes), upto, batch)
}

function* readFirst(source: CandidateSource, upto: number, batch: number): Program<OpeningCandidates> {
  return { first: asRead(yield* source.read(upto, batch), batch), rare: null }
}

function* readWithRare(
  newest: CandidateSource,
  rare: CandidateSource,
  upto: number,
  batch: number,
): Program<OpeningCandidates> {
  const first = yield* newest.readLater(upto, firstLook)
  const found = yield* rare.readRare(upto, batch)
  return { first: asRead(first(), firstLook), rare: asRead(found, batch) }
}

export function asRead(rows: readonly CandidateRow[], batch: number): ReadCandidates {
  return { rows, isCut: rows.length >= batch }
}

/** Those that have not been examined. */
export function olderOf({ rows, isCut }: ReadCandidates, upto: number | null): ReadCandidates | null {
  if (upto === null || rows.length === 0) return null
  return { rows: rows.filter(({ at }) => at <= upto), isCut }
}

export function firstTime({ from }: HuntRange): number {
  return from ? from[0] : latestTime
}

/** Whether the index decides alone: about a few words and prefixes that must occur, and words that must
 *  not. */
export function isExact({ all, none }: SearchQuery, { isComplete }: SearchPlan): boolean {
  return isComplete && all.every(term => !term.check) && none.every(term => !term.check && !term.prefix)
}

/** How many candidates to read first: if the index decides alone, those that are wanted, and a few for the
 *  messages of the last millisecond. A statement that blocks the process returns 500 at most. */
export function indexBatch({ rowsPerStatement }: Engine, exact: boolean, wanted: number): number {
  if (rowsPerStatement === null) return exact ? wanted + 8 : Math.min(200, wanted * 3)
  return exact ? Math.min(wanted + 8, 500) : 200
}
