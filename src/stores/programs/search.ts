import { latestTime } from '../../core/check.ts'
import type { ConversationKind } from '../../core/conversation.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { Page, SearchHit, SearchOptions } from '../../core/listing.ts'
import { matches } from '../../core/search/match.ts'
import type { SearchQuery } from '../../core/search/query.ts'
import { score } from '../../core/search/rank.ts'
import { cutSnippet } from '../../core/search/snippet.ts'
import { all, type Match, type Program } from '../engine.ts'
import type { CandidateRow } from '../rows.ts'
import { readLoose } from './content.ts'
import { readCursor, writeCursor } from './cursor.ts'
import { resolve } from './find.ts'
import { needConversation } from './lookup.ts'
import { readTexts, scopes } from './search-index.ts'

/** How many of the newest answers are ranked: a common word has hundreds of thousands. */
const mostRanked = 2_000

interface Answer {
  readonly row: CandidateRow
  readonly texts: readonly string[]
}

/** One page of answers. The index narrows down; what must be exact, and alike on every engine, is
 *  decided on the texts: phrases, order, rank and snippet. */
export function* search(
  query: SearchQuery,
  options: SearchOptions,
  matchText: (match: Match) => string,
): Program<Page<SearchHit>> {
  const limit = options.limit ?? 20
  const source = yield* candidateSource(query, options, matchText)
  if (options.order === 'ranked') {
    const skip = options.after === undefined ? 0 : (readCursor(options.after, ['number'])[0] as number)
    const answers = yield* newestAnswers(query, source, mostRanked, null)
    const ranked = rank(answers, query)
    const next = ranked.length > skip + limit ? writeCursor([skip + limit]) : null
    return { items: yield* hitsOf(ranked.slice(skip, skip + limit), query, options), next, skipped: [] }
  }
  const after = options.after === undefined ? null : readCursor(options.after, ['number', 'number', 'string'])
  const answers = yield* newestAnswers(query, source, limit + 1, after)
  const last = answers[limit - 1]?.row
  const next = answers.length > limit && last ? writeCursor(orderKey(last)) : null
  return { items: yield* hitsOf(answers.slice(0, limit), query, options), next, skipped: [] }
}

type CandidateSource = (upto: number, limit: number) => Program<readonly CandidateRow[]>

function* candidateSource(
  query: SearchQuery,
  options: SearchOptions,
  matchText: (match: Match) => string,
): Program<CandidateSource> {
  const required = query.all.flatMap(term => term.required)
  const prefixes = query.all.flatMap(term => (term.requiredPrefix === null ? [] : [term.requiredPrefix]))
  // A word that the index can decide alone may be excluded there; a phrase may not.
  const none = query.none.filter(term => !term.check && !term.prefix).flatMap(term => term.required)
  if (query.conversation !== null) {
    const { conversation } = yield* resolve(query.conversation)
    required.push(scopes.conversation((yield* needConversation(conversation.id)).conv))
  }
  if (required.length === 0) required.push(scopes.everything)
  const match = matchText({ all: required, prefixes, any: query.roles.map(scopes.role), none })
  const from = query.since?.getTime() ?? 0
  const latest = query.before ? query.before.getTime() - 1 : latestTime
  const filters = { directory: options.directory ?? null, kind: options.kind ?? null }
  return (upto, limit) => all('candidates', { match, from, upto: Math.min(upto, latest), ...filters, limit })
}

/** The newest messages that really answer, in order, from behind `after`. */
function* newestAnswers(
  query: SearchQuery,
  source: CandidateSource,
  wanted: number,
  after: readonly (string | number)[] | null,
): Program<Answer[]> {
  // What the index decides alone: words and prefixes that must occur, and words that must not.
  const exact = query.all.every(term => !term.check) && query.none.every(term => !term.check && !term.prefix)
  const answers: Answer[] = []
  let upto = after ? (after[0] as number) : latestTime
  // A few more than wanted; many more where most candidates may turn out to be none.
  let batch = exact ? wanted + 8 : Math.max(wanted * 4, 200)
  for (;;) {
    const rows = yield* source(upto, batch)
    const full = rows.length === batch
    // Messages of one millisecond are sorted together, so the last group must be whole.
    const edge = full ? rows.at(-1)!.at : -1
    const sorted = rows.filter(row => row.at !== edge).sort((a, b) => compare(orderKey(a), orderKey(b)))
    if (full && sorted.length === 0) {
      batch *= 4
      continue
    }
    const texts = yield* readTexts(sorted)
    for (const [i, row] of sorted.entries()) {
      const said = texts[i]
      if (!said || (after && compare(orderKey(row), after) <= 0)) continue
      if (!matches(said, query)) continue
      answers.push({ row, texts: said })
      if (answers.length === wanted) return answers
    }
    if (!full) return answers
    upto = edge
  }
}

/** Newest first; in one millisecond the later of a conversation first. */
function orderKey(row: CandidateRow): (string | number)[] {
  return [row.at, row.seq, row.conversation_id]
}

function compare(a: readonly (string | number)[], b: readonly (string | number)[]): number {
  if (a[0] !== b[0]) return (b[0] as number) - (a[0] as number)
  if (a[1] !== b[1]) return (b[1] as number) - (a[1] as number)
  return a[2] === b[2] ? 0 : a[2]! < b[2]! ? -1 : 1
}

/** Best first; among equals the newest. */
function rank(answers: readonly Answer[], query: SearchQuery): Answer[] {
  return answers
    .map(answer => ({ answer, score: score(answer.texts, query) }))
    .sort((a, b) => b.score - a.score)
    .map(({ answer }) => answer)
}

function* hitsOf(
  answers: readonly Answer[],
  query: SearchQuery,
  options: SearchOptions,
): Program<SearchHit[]> {
  const rows = answers.map(answer => answer.row)
  const messages = yield* readLoose(rows, 'preview')
  const places = rows.map(({ conv, seq }) => ({ conv, seq }))
  const held = new Map<string, string[]>()
  for (const { conv, seq, name } of rows.length > 0 ? yield* all('branchesHolding', { places }) : []) {
    const key = `${conv} ${seq}`
    held.set(key, [...(held.get(key) ?? []), name])
  }
  return rows.map((row, i) => ({
    message: messages[i]!,
    conversation: {
      id: row.conversation_id as ConversationId,
      title: row.title,
      kind: row.kind as ConversationKind,
      directory: row.directory,
      channel: row.channel,
    },
    branches: held.get(`${row.conv} ${row.seq}`) ?? [],
    snippet: cutSnippet(answers[i]!.texts, query, options.snippetLength),
  }))
}
