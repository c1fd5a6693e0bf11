import { latestTime } from '../../core/check.ts'
import { matches } from '../../core/search/match.ts'
import { termOf } from '../../core/search/term.ts'
import type { Engine } from '../engine/engine.ts'
import type { CandidateRow } from '../engine/rows.ts'
import { placeKey, type SearchAnswer } from '../programs/search/answers.ts'
import type { CandidateSource, SearchPlan } from '../programs/search/search.ts'
import { blobBytesOf, readTexts } from '../programs/search/search-index.ts'
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
import { mayWait, readWaiting, type TextSearch, textReader } from './search-texts.ts'

/** What a search needs to find answers. */
export interface Hunt extends TextSearch {
  readonly plan: SearchPlan
  /** Unindexed messages that pass the filters, in order. */
  readonly scanned: readonly CandidateRow[]
  /** The first candidates, if they have been read. */
  readonly opening: OpeningCandidates | null
}

export interface HuntResult {
  /** Those that are not sure are besides the wanted ones. */
  readonly answers: readonly SearchAnswer[]
  /** The last candidate that was examined, if the budget ended the hunt. */
  readonly stoppedAt: OrderKey | null
  /** The last answer, if there may be more. */
  readonly fullAt: OrderKey | null
}

interface HuntState extends HuntRange {
  answers: SearchAnswer[]
  /** How many of them are sure. */
  sure: number
  /** How many bytes of their texts have not been read. */
  unread: number
  /** Candidates that have been read and not used. */
  opening: ReadCandidates | null
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
    sure: 0,
    unread: 0,
    opening: opening?.first ?? null,
    upto: firstTime(range),
    candidates: 0,
    chars: 0,
    ranges: 0,
    stoppedAt: null,
  }
  let { prefixes } = plan
  if (prefixes.length > 0 && !plan.isFiltered) prefixes = await lookAtNewest(hunt, state)
  else if (prefixes.length > 0 && engine.rowsPerStatement !== null) prefixes = await lookAtSample(hunt)
  const source = plan.matching(prefixes)
  const span = spanFor(hunt)
  const exact = isExact(query, plan) && prefixes.length === plan.prefixes.length
  if (opening?.rare) state.opening = olderOf(opening.rare, state.upto)
  for (let seen = 0, batch = indexBatch(engine, exact, wanted); goesOn(state); ) {
    seen += await take(hunt, state, { source, batch, exact, span })
    if (!exact) batch = nextBatch(wanted - state.sure, state.answers.length / Math.max(1, seen))
  }
  const { answers, stoppedAt } = state
  const fullAt = state.sure >= wanted ? orderKey(answers.at(-1)!.row) : null
  return { answers, stoppedAt, fullAt }
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
  const { wanted } = state
  const { engine, plan } = hunt
  const counter = countPrefixes(plan.prefixes)
  const most = Math.max(400, wanted * 4)
  for (let seen = 0, batch = firstLook; goesOn(state); ) {
    const given = { source: plan.matching([]), batch, exact: false, span: null }
    seen += await take(hunt, state, given, counter.add)
    const needed = (wanted * seen) / state.sure
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

function goesOn({ sure, wanted, upto, stoppedAt }: HuntState): boolean {
  return upto !== null && stoppedAt === null && sure < wanted
}

/** A search examines so much even if its budget is over, so that a stalled process finds something too, and
 *  each page makes progress. */
const least = { candidates: 200, chars: 1_048_576, ranges: 4 }

function mayStop({ candidates, chars, ranges }: HuntState): boolean {
  return candidates >= least.candidates || chars >= least.chars || ranges >= least.ranges
}

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
  const { query, pace } = hunt
  const { wanted, from, to } = state
  await pace.breathe()
  // Otherwise candidates would be read that may not be needed.
  if (state.answers.length >= wanted) await decideAll(hunt, state)
  if (state.sure >= wanted) return 0
  const { rows, next } = await nextCandidates(hunt, state, given)
  const scanned = new Set<CandidateRow>(hunt.scanned)
  const textsAt = textReader(hunt, rows)
  for (const [i, row] of rows.entries()) {
    if (state.sure === wanted) return rows.length
    const key = orderKey(row)
    if (to && compare(key, to) > 0) {
      state.upto = null
      return rows.length
    }
    if (from && compare(key, from) <= 0) continue
    const isIndexed = given.exact && !scanned.has(row)
    const isLater = mayWait(hunt, state.unread, row)
    const texts = isLater ? null : await textsAt(i)
    if (texts) onTexts?.(texts)
    if (isLater || (texts && (isIndexed || matches(texts, query))))
      addAnswer(state, { row, texts, isSure: isIndexed || !isLater })
    state.candidates++
    for (const text of texts ?? []) state.chars += text.length
    if (pace.isDue()) await pace.breathe()
    if (!to && state.sure < wanted && mayStop(state) && pace.isOver()) {
      state.stoppedAt = key
      return rows.length
    }
  }
  state.upto = next
  // Every message after `next` has been examined.
  if (next !== null && !to && state.sure < wanted && mayStop(state) && pace.isOver())
    state.stoppedAt = [next, Number.MAX_SAFE_INTEGER, '']
  return rows.length
}

function addAnswer(state: HuntState, answer: SearchAnswer): void {
  state.answers.push(answer)
  if (answer.isSure) state.sure++
  if (answer.texts === null) state.unread += blobBytesOf(answer.row) ?? 0
}

/** Reads the texts that wait, and keeps the answers that match. */
async function decideAll(hunt: Hunt, state: HuntState): Promise<void> {
  state.answers = await readWaiting(hunt, state.answers)
  state.sure = state.answers.length
  state.unread = 0
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
