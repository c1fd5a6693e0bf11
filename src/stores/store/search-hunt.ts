import { latestTime } from '../../core/check.ts'
import { matches } from '../../core/search/match.ts'
import type { SearchQuery } from '../../core/search/query.ts'
import { termOf } from '../../core/search/term.ts'
import type { Engine } from '../engine/engine.ts'
import type { CandidateRow } from '../engine/rows.ts'
import {
  type CandidateSource,
  placeKey,
  type SearchAnswer,
  type SearchPlan,
} from '../programs/search/search.ts'
import { readTexts } from '../programs/search/search-index.ts'
import type { Pace } from './pace.ts'
import {
  asRead,
  firstLook,
  firstTime,
  type HuntRange,
  indexBatch,
  isExact,
  type OpeningCandidates,
  type OrderKey,
  olderOf,
  type ReadCandidates,
} from './search-opening.ts'

/** What a search needs to find answers. */
export interface Hunt {
  readonly engine: Engine
  readonly query: SearchQuery
  readonly plan: SearchPlan
  /** Unindexed messages that pass the filters, in order. */
  readonly scanned: readonly CandidateRow[]
  readonly pace: Pace
  /** The first candidates, if they have been read. */
  readonly opening: OpeningCandidates | null
  /** Whether texts in blobs may be read with what to show of the answers, if the index decides alone. */
  readonly mayReadLater: boolean
}

export interface HuntResult {
  readonly answers: readonly SearchAnswer[]
  /** The last candidate that was examined, if the budget ended the hunt. */
  readonly stoppedAt: OrderKey | null
}

interface HuntState extends HuntRange {
  readonly answers: SearchAnswer[]
  /** Candidates that have been read and not used. */
  opening: ReadCandidates | null
  /** How many answers have no texts yet. */
  unread: number
  /** Where to continue, or null at the end. */
  upto: number | null
  /** How much was examined. */
  candidates: number
  chars: number
  ranges: number
  stoppedAt: OrderKey | null
}

/** The newest messages that match, in order. */
export async function huntAnswers(hunt: Hunt, range: HuntRange): Promise<HuntResult> {
  const { engine, query, plan, opening } = hunt
  const { wanted } = range
  const state: HuntState = {
    ...range,
    answers: [],
    opening: opening?.first ?? null,
    unread: 0,
    upto: firstTime(range),
    candidates: 0,
    chars: 0,
    ranges: 0,
    stoppedAt: null,
  }
  const { answers } = state
  let { prefixes } = plan
  if (prefixes.length > 0 && !plan.isFiltered) prefixes = await lookAtNewest(hunt, state)
  else if (prefixes.length > 0 && engine.rowsPerStatement !== null) prefixes = await lookAtSample(hunt)
  const source = plan.matching(prefixes)
  const span = spanFor(hunt)
  const exact = isExact(query) && prefixes.length === plan.prefixes.length
  if (opening?.rare) state.opening = olderOf(opening.rare, state.upto)
  for (let seen = 0, batch = indexBatch(engine, exact, wanted); goesOn(state); ) {
    seen += await take(hunt, state, { source, batch, exact, span })
    if (!exact) batch = nextBatch(wanted - answers.length, answers.length / Math.max(1, seen))
  }
  return { answers, stoppedAt: state.stoppedAt }
}

/** How many more candidates to read, given the share of matches so far. Another query costs as much as
 *  fifty candidates, so a few too many are better than too few. All their texts must fit in memory. */
function nextBatch(missing: number, share: number): number {
  return Math.ceil(Math.min(400, Math.max(50, (missing * 1.25) / share)))
}

/** Most matches of the index that one statement compares with a filter. Each that the filter rejects takes 1
 *  to 3 µs. Null: without a filter, a statement ends when it has enough. */
function spanFor({ engine, plan }: Hunt): number | null {
  const rows = engine.rowsPerStatement ?? (plan.isCompared ? rowsElsewhere : null)
  return rows !== null && plan.isFiltered ? Math.ceil(rows / 4) : null
}

/** The same for an engine in another process, which sends all of them. */
const rowsElsewhere = 8_000

/** A prefix that so many messages contain is common: the index takes tens of milliseconds for it. */
const commonShare = 1 / 20

/** To return the newest match of a prefix, an index merges the lists of all words with that prefix: a third
 *  of a second for two letters and a million messages. Such a prefix occurs in every other message, so it
 *  is faster to check the newest messages themselves. Stops if the matches turn out to be rare, and returns
 *  the prefixes that the index should look up. */
async function lookAtNewest(hunt: Hunt, state: HuntState): Promise<readonly string[]> {
  const { wanted, answers } = state
  const { engine, plan } = hunt
  const counter = countPrefixes(plan.prefixes)
  const most = Math.max(400, wanted * 4)
  for (let seen = 0, batch = firstLook; goesOn(state); ) {
    const given = { source: plan.matching([]), batch, exact: false, span: null }
    seen += await take(hunt, state, given, counter.add)
    const needed = (wanted * seen) / answers.length
    if (needed > most) return engine.rowsPerStatement === null ? plan.prefixes : counter.rare()
    batch = Math.max(firstLook, Math.min(400, Math.ceil(needed - seen)))
  }
  return plan.prefixes
}

/** The same decision for a filter that the newest messages may not pass: looks at some of all messages. */
async function lookAtSample({ engine, plan, pace }: Hunt): Promise<readonly string[]> {
  await pace.breathe()
  const counter = countPrefixes(plan.prefixes)
  const texts = await engine.query(function* () {
    return yield* readTexts(yield* plan.unfiltered.read(latestTime, firstLook))
  })
  for (const said of texts) if (said) counter.add(said)
  return counter.rare()
}

/** Counts the messages that contain each prefix. */
function countPrefixes(prefixes: readonly string[]) {
  const terms = prefixes.map(prefix => termOf(`${prefix}*`))
  const counts = prefixes.map(() => 0)
  let messages = 0
  return {
    add(texts: readonly string[]): void {
      messages++
      for (const [i, term] of terms.entries())
        if (term === null || matches(texts, { all: [term], none: [] })) counts[i]!++
    },
    /** Those that are not common. */
    rare: () => prefixes.filter((_, i) => counts[i]! < messages * commonShare),
  }
}

function goesOn({ answers, wanted, upto, stoppedAt }: HuntState): boolean {
  return upto !== null && stoppedAt === null && answers.length < wanted
}

/** A search examines so much even if its budget is over, so that a stalled process finds something too, and
 *  each page makes progress. */
const least = { candidates: 200, chars: 1_048_576, ranges: 4 }

function mayStop({ candidates, chars, ranges }: HuntState): boolean {
  return candidates >= least.candidates || chars >= least.chars || ranges >= least.ranges
}

/** Messages whose texts are read at once. */
const readBatch = 16

/** Most messages whose texts are read with what to show of them. */
const mostUnread = 32

interface CandidateBatch {
  readonly source: CandidateSource
  readonly batch: number
  /** Whether a candidate of the index is surely a match. */
  readonly exact: boolean
  /** Most matches of the index that one statement examines. Null: no limit. */
  readonly span: number | null
}

/** Adds the matches among the next candidates and returns the number of candidates. */
async function take(
  hunt: Hunt,
  state: HuntState,
  given: CandidateBatch,
  onTexts?: (texts: readonly string[]) => void,
): Promise<number> {
  const { engine, query, pace } = hunt
  const { wanted, from, to, answers } = state
  await pace.breathe()
  const { rows, next } = await nextCandidates(hunt, state, given)
  const scanned = new Set<CandidateRow>(hunt.scanned)
  for (let i = 0; i < rows.length; i += readBatch) {
    const group = rows.slice(i, i + readBatch)
    const isSure = (row: CandidateRow) => given.exact && !scanned.has(row)
    const texts = inlineTexts(hunt, state, group, isSure) ?? (await engine.query(() => readTexts(group)))
    for (const [k, row] of group.entries()) {
      if (answers.length === wanted) return rows.length
      const key = orderKey(row)
      if (to && compare(key, to) > 0) {
        state.upto = null
        return rows.length
      }
      if (from && compare(key, from) <= 0) continue
      const said = texts[k]
      if (said && said !== 'later') onTexts?.(said)
      const isAnswer = said === 'later' || (said && (isSure(row) || matches(said, query)))
      if (isAnswer) answers.push({ row, texts: said === 'later' ? null : said })
      state.candidates++
      for (const text of said === 'later' ? [] : (said ?? [])) state.chars += text.length
      if (pace.isDue()) await pace.breathe()
      if (!to && answers.length < wanted && mayStop(state) && pace.isOver()) {
        state.stoppedAt = key
        return rows.length
      }
    }
  }
  state.upto = next
  // Every message after `next` has been examined.
  if (next !== null && !to && answers.length < wanted && mayStop(state) && pace.isOver())
    state.stoppedAt = [next, Number.MAX_SAFE_INTEGER, '']
  return rows.length
}

/** The texts of messages that need no statement and so no connection: they have no blobs, or those can be
 *  read later. Null if the blobs are needed now. */
function inlineTexts(
  { mayReadLater }: Hunt,
  state: HuntState,
  rows: readonly CandidateRow[],
  isSure: (row: CandidateRow) => boolean,
): readonly (readonly string[] | 'later' | null)[] | null {
  const all = readTexts(rows).next()
  if (all.done) return all.value
  if (!mayReadLater) return null
  const texts = rows.map(row => {
    const one = readTexts([row]).next()
    if (one.done) return one.value[0] ?? null
    return isSure(row) ? 'later' : undefined
  })
  const unread = state.unread + texts.filter(said => said === 'later').length
  if (unread > mostUnread || texts.includes(undefined)) return null
  state.unread = unread
  return texts as readonly (readonly string[] | 'later' | null)[]
}

/** In order. Messages of one millisecond are sorted together, so the last group must be complete. Without a
 *  match in its part of the index, returns no rows. */
async function nextCandidates(
  { engine, scanned, pace }: Hunt,
  state: HuntState,
  { source, batch: least, span }: CandidateBatch,
): Promise<{ rows: readonly CandidateRow[]; next: number | null }> {
  const { opening } = state
  const upto = state.upto!
  state.opening = null
  let floor: number | undefined
  if (span !== null) {
    floor = await floorOf(engine, source, upto, span)
    state.ranges++
    await pace.breathe()
  }
  for (let batch = least; ; batch *= 4) {
    const read = batch === least ? opening : null
    const { rows, isCut } = read ?? asRead(await engine.query(() => source.read(upto, batch, floor)), batch)
    const edge = isCut ? oldestOf(rows) : (floor ?? null)
    const whole = isCut ? rows.filter(row => row.at !== edge) : rows
    const beside = scanned.filter(({ at }) => at <= upto && (edge === null || at > edge))
    if (isCut && whole.length === 0 && beside.length === 0) continue
    return { rows: merge(whole, beside), next: edge }
  }
}

function oldestOf(rows: readonly CandidateRow[]): number {
  return rows.reduce((oldest, { at }) => Math.min(oldest, at), Number.POSITIVE_INFINITY)
}

/** The time at which to end a statement that begins at `upto`, so that it examines `span` matches, or more if
 *  they are of one millisecond. Undefined if there are not so many. */
async function floorOf(
  engine: Engine,
  source: CandidateSource,
  upto: number,
  span: number,
): Promise<number | undefined> {
  for (let size = span; ; size *= 4) {
    const floor = await engine.query(() => source.floor(upto, size))
    if (floor === undefined || floor < upto) return floor
  }
}

/** A message that was indexed since it was scanned is in both. */
function merge(indexed: readonly CandidateRow[], scanned: readonly CandidateRow[]): readonly CandidateRow[] {
  if (scanned.length === 0) return sortHits(indexed)
  const known = new Set(scanned.map(placeKey))
  return sortHits([...scanned, ...indexed.filter(row => !known.has(placeKey(row)))])
}

export function sortHits<T extends CandidateRow>(rows: readonly T[]): readonly T[] {
  return rows.toSorted(compareRows)
}

function compareRows(a: CandidateRow, b: CandidateRow): number {
  return a.at === b.at ? compare(orderKey(a), orderKey(b)) : b.at - a.at
}

/** Newest first. Within a millisecond, the later message of a conversation first. */
export function orderKey(row: CandidateRow): OrderKey {
  return [row.at, row.seq, row.conversation_id]
}

function compare(a: OrderKey, b: OrderKey): number {
  if (a[0] !== b[0]) return b[0] - a[0]
  if (a[1] !== b[1]) return b[1] - a[1]
  return a[2] === b[2] ? 0 : a[2] < b[2] ? -1 : 1
}
