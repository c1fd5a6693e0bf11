import type { SearchHit, SearchOptions, SearchPage } from '../../core/listing.ts'
import type { SearchQuery } from '../../core/search/query.ts'
import { score } from '../../core/search/rank.ts'
import { all, type Engine, later, type Program } from '../engine/engine.ts'
import type { MessageSpan, SpanRow } from '../engine/rows.ts'
import { readCursor, writeCursor } from '../programs/cursor.ts'
import { type FoundDetails, hitOf, readDetails, type SearchAnswer } from '../programs/search/answers.ts'
import {
  convsIn,
  otherName,
  planSearch,
  readScope,
  type SearchFilters,
  type SearchPlan,
  scopeLookup,
} from '../programs/search/search.ts'
import {
  chooseAhead,
  chooseUnindexed,
  readAhead,
  type UnindexedMessages,
} from '../programs/search/unindexed.ts'
import { createPace, type Pace } from './pace.ts'
import { type Hunt, huntAnswers, orderKey, sortHits } from './search-hunt.ts'
import { type HuntRange, type OpeningCandidates, type OrderKey, readOpening } from './search-opening.ts'
import { decide, readWaiting } from './search-texts.ts'

/** How many of the newest matches are ranked: a common word has hundreds of thousands. */
const mostRanked = 2_000

const defaultBudgetMs = 1_000

/** A page of matches. The index narrows the candidates. Everything that must be exact and equal on all
 *  engines is decided on the texts: phrases, order, rank and snippet. Messages that are not in the index yet
 *  are candidates too, the newest ones. Runs in pieces, each with its own queries: which messages are
 *  unindexed is read first, so that none is missed that another process indexes meanwhile. */
export async function searchStore(
  engine: Engine,
  query: SearchQuery,
  options: SearchOptions,
): Promise<SearchPage> {
  const { signal, budgetMs = defaultBudgetMs, limit = 20 } = options
  signal?.throwIfAborted()
  const pace = createPace({ budgetMs, ...(signal && { signal }) })
  const after = options.after ?? null
  const isRanked = options.order === 'ranked'
  const start = isRanked ? readRankedCursor(after) : readNewestCursor(after)
  const wanted = isRanked ? mostRanked : limit + 1
  const range = { wanted, from: start.from, to: start.to }
  const { plan, unindexed, candidates } = await open(engine, query, options, range)
  const { spans } = unindexed
  if (spans.length > 0) engine.noteUnindexed()
  const read = unindexed.scanned ?? (await scan(engine, spans, pace))
  const scanned = sortHits(read.filter(row => row.body !== null && passes(row, plan.filters)))
  const hunt = { engine, query, plan, scanned, pace, opening: candidates }
  const { answers, stoppedAt, fullAt } = await huntAnswers(hunt, range)
  const toPage = (known: readonly SearchAnswer[]) =>
    isRanked
      ? rankedPage(known, stoppedAt, start, hunt, limit)
      : newestPage(known, stoppedAt ?? fullAt, limit)
  const most = isRanked ? mostAhead : limit + mostAhead
  const { page, details } = await readPage(hunt, answers, most, toPage)
  const items: SearchHit[] = []
  for (const answer of page.answers) {
    // The snippet of a long text takes milliseconds.
    if (pace.isDue()) await pace.breathe()
    const hit = hitOf(answer, details, query, options)
    if (hit) items.push(hit)
  }
  return { items, next: page.next, skipped: [], unindexed: unindexed.unindexed }
}

/** Most answers that are read although they may not be shown. */
const mostAhead = 64

/** Makes a page and reads what to show of it. If texts are missing and there are at most so many answers,
 *  both are read at once. */
async function readPage(
  hunt: Hunt,
  answers: readonly SearchAnswer[],
  most: number,
  toPage: (known: readonly SearchAnswer[]) => Promise<AnswerPage> | AnswerPage,
): Promise<{ page: AnswerPage; details: FoundDetails }> {
  const { engine } = hunt
  const isComplete = answers.every(({ texts }) => texts !== null)
  if (isComplete || answers.length > most) {
    const page = await toPage(isComplete ? answers : await readWaiting(hunt, answers))
    return { page, details: await engine.read(() => readDetails(page.answers), 'one') }
  }
  const details = await engine.read(() => readDetails(answers), 'one')
  return { page: await toPage(await decide(hunt, answers, details.texts)), details }
}

interface Opened {
  readonly plan: SearchPlan
  readonly unindexed: UnindexedMessages & { readonly scanned: readonly SpanRow[] | null }
  readonly candidates: OpeningCandidates | null
}

/** Plans a search and reads its beginning. An engine behind a network reads it in one request; in the process
 *  itself, that would only make one long block of several short ones. */
async function open(
  engine: Engine,
  query: SearchQuery,
  options: SearchOptions,
  range: HuntRange,
): Promise<Opened> {
  if (engine.rowsPerStatement === null) return engine.query(() => openAtOnce(engine, query, options, range))
  const plan = await engine.query(function* () {
    return yield* planSearch(query, options, engine, { convs: yield* readScope(query, options) })
  })
  const chosen = await engine.query(() => chooseUnindexed(plan.filters))
  return { plan, unindexed: { ...chosen, scanned: null }, candidates: null }
}

/** The statement that reads the first candidates looks up the conversations itself. They are also read, to
 *  choose among the unindexed messages and to continue. */
function* openAtOnce(
  engine: Engine,
  query: SearchQuery,
  options: SearchOptions,
  range: HuntRange,
): Program<Opened> {
  const lookup = scopeLookup(query, options)
  const scope = lookup && (yield* later('scopeConversations', lookup))
  const first = yield* planSearch(query, options, engine, { lookup })
  const ahead = yield* readAhead(() => readOpening(engine, query, first, range))
  if (scope === null) return { ...ahead, plan: first, unindexed: chooseAhead(ahead, first.filters) }
  const other = yield* otherName(query, scope())
  if (other) return yield* openAtOnce(engine, { ...query, conversation: other }, options, range)
  const convs = convsIn(scope())
  const plan = yield* planSearch(query, options, engine, { convs })
  // A conversation may have got its tag, for example, between the two statements.
  const isOfScope = [ahead.candidates?.first, ahead.candidates?.rare].every(
    read => read?.rows.every(({ conv }) => convs.has(conv)) ?? true,
  )
  const candidates = isOfScope && !plan.isCompared ? ahead.candidates : null
  return { plan, unindexed: chooseAhead(ahead, plan.filters), candidates }
}

/** Where a page begins. Ranked pages rank a window of the newest order: from `from`, exclusive, to `to`,
 *  inclusive. */
interface PageStart {
  readonly skip: number
  readonly from: OrderKey | null
  readonly to: OrderKey | null
}

const keyShape = ['number', 'number', 'string'] as const

function readNewestCursor(text: string | null): PageStart {
  const from = text === null ? null : (readCursor(text, keyShape) as unknown as OrderKey)
  return { skip: 0, from, to: null }
}

/** `at` is −1 in a key that is null. */
function readRankedCursor(text: string | null): PageStart {
  if (text === null) return { skip: 0, from: null, to: null }
  const [skip, ...keys] = readCursor(text, ['number', ...keyShape, ...keyShape])
  const key = (parts: readonly unknown[]) => (parts[0] === -1 ? null : (parts as unknown as OrderKey))
  return { skip: skip as number, from: key(keys.slice(0, 3)), to: key(keys.slice(3)) }
}

function writeRankedCursor({ skip, from, to }: PageStart): string {
  const none: OrderKey = [-1, 0, '']
  return writeCursor([skip, ...(from ?? none), ...(to ?? none)])
}

interface AnswerPage {
  readonly answers: readonly SearchAnswer[]
  readonly next: string | null
}

/** If some answers did not match in the end, the page has fewer hits, and the next one begins where the hunt
 *  ended. */
function newestPage(answers: readonly SearchAnswer[], huntEnd: OrderKey | null, limit: number): AnswerPage {
  const shown = answers.slice(0, limit)
  const end = answers.length > limit ? orderKey(shown.at(-1)!.row) : huntEnd
  return { answers: shown, next: end && writeCursor(end) }
}

/** The best of the newest matches. If the budget ends the hunt, those before its end are ranked, and a later
 *  page ranks the next ones. */
async function rankedPage(
  answers: readonly SearchAnswer[],
  stoppedAt: OrderKey | null,
  { skip, from, to: known }: PageStart,
  hunt: Hunt,
  limit: number,
): Promise<AnswerPage> {
  const ranked = await rank(answers.slice(0, mostRanked), hunt)
  const to = known ?? stoppedAt
  const shown = ranked.slice(skip, skip + limit)
  if (ranked.length > skip + limit) {
    return { answers: shown, next: writeRankedCursor({ skip: skip + limit, from, to }) }
  }
  return { answers: shown, next: to && writeRankedCursor({ skip: 0, from: to, to: null }) }
}

/** Best first, and among equals the newest. */
async function rank(answers: readonly SearchAnswer[], { query, pace }: Hunt): Promise<SearchAnswer[]> {
  const scored: { readonly answer: SearchAnswer; readonly score: number }[] = []
  for (const answer of answers) {
    if (pace.isDue()) await pace.breathe()
    scored.push({ answer, score: score(answer.texts ?? [], query) })
  }
  return scored.sort((a, b) => b.score - a.score).map(({ answer }) => answer)
}

/** Messages to read at once. */
const scanBatch = 250

/** Reads unindexed messages. */
async function scan(
  { query }: Engine,
  spans: readonly MessageSpan[],
  pace: Pace,
): Promise<readonly SpanRow[]> {
  const found: SpanRow[] = []
  for (const batch of batchesOf(spans)) {
    await pace.breathe()
    found.push(...(await query(() => all('messagesIn', { spans: batch }))))
  }
  return found
}

function* batchesOf(spans: readonly MessageSpan[]): Generator<readonly MessageSpan[]> {
  let batch: MessageSpan[] = []
  let room = scanBatch
  for (const { conv, lo, hi } of spans) {
    for (let from = lo; from <= hi; ) {
      const to = Math.min(hi, from + room - 1)
      batch.push({ conv, lo: from, hi: to })
      room -= to - from + 1
      from = to + 1
      if (room > 0) continue
      yield batch
      batch = []
      room = scanBatch
    }
  }
  if (batch.length > 0) yield batch
}

function passes({ at, role }: SpanRow, { from, latest, roles }: SearchFilters): boolean {
  return at >= from && at <= latest && (roles.length === 0 || roles.includes(role))
}
