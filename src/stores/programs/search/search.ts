import { latestTime } from '../../../core/check.ts'
import type { ConversationKind } from '../../../core/conversation.ts'
import type { ConversationId } from '../../../core/ids.ts'
import type { Page, SearchHit, SearchOptions } from '../../../core/listing.ts'
import type { SearchQuery } from '../../../core/search/query.ts'
import { score } from '../../../core/search/rank.ts'
import { cutSnippet } from '../../../core/search/snippet.ts'
import { all, type Program, type TokenMatch } from '../../engine/engine.ts'
import type { Conv } from '../../engine/rows.ts'
import { readLoose } from '../content.ts'
import { readCursor, writeCursor } from '../cursor.ts'
import { needConversation } from '../lookup.ts'
import { resolve } from '../resolve.ts'
import {
  type CandidateSource,
  type CandidateSources,
  newestAnswers,
  orderKey,
  type SearchAnswer,
} from './search-candidates.ts'
import { scopes } from './search-index.ts'

/** How many of the newest matches are ranked: a common word has hundreds of thousands. */
const mostRanked = 2_000

/** A page of matches. The index narrows the candidates. Everything that must be exact and equal on all
 *  engines is decided on the texts: phrases, order, rank and snippet. */
export function* searchMessages(
  query: SearchQuery,
  options: SearchOptions,
  matchText: (match: TokenMatch) => string,
): Program<Page<SearchHit>> {
  const limit = options.limit ?? 20
  const candidates = yield* candidatesOf(query, options, matchText)
  if (options.order === 'ranked') {
    const skip = options.after === undefined ? 0 : (readCursor(options.after, ['number'])[0] as number)
    const answers = yield* newestAnswers(query, candidates, mostRanked, null)
    const ranked = rank(answers, query)
    const next = ranked.length > skip + limit ? writeCursor([skip + limit]) : null
    return { items: yield* hitsOf(ranked.slice(skip, skip + limit), query, options), next, skipped: [] }
  }
  const after = options.after === undefined ? null : readCursor(options.after, ['number', 'number', 'string'])
  const answers = yield* newestAnswers(query, candidates, limit + 1, after)
  const last = answers[limit - 1]?.row
  const next = answers.length > limit && last ? writeCursor(orderKey(last)) : null
  return { items: yield* hitsOf(answers.slice(0, limit), query, options), next, skipped: [] }
}

/** With prefixes, the index is queried in two ways. */
function* candidatesOf(
  query: SearchQuery,
  options: SearchOptions,
  matchText: (match: TokenMatch) => string,
): Program<CandidateSources> {
  const required = query.all.flatMap(term => term.required)
  const prefixes = query.all.flatMap(term => (term.requiredPrefix === null ? [] : [term.requiredPrefix]))
  // The index can exclude a word that it decides alone, but not a phrase.
  const none = query.none.filter(term => !term.check && !term.prefix).flatMap(term => term.required)
  if (query.conversation !== null) {
    const { conversation } = yield* resolve(query.conversation)
    required.push(scopes.conversation((yield* needConversation(conversation.id)).conv))
  }
  if (required.length === 0) required.push(scopes.everything)
  const from = query.since?.getTime() ?? 0
  const latest = query.before ? query.before.getTime() - 1 : latestTime
  const { directory, kind = null } = options
  const filters = { directories: typeof directory === 'string' ? [directory] : (directory ?? null), kind }
  // A filter that few messages pass would make the index read all the others.
  const isFiltered = filters.directories !== null || filters.kind !== null
  return {
    indexed: source(prefixes),
    withoutPrefixes: prefixes.length > 0 && !isFiltered ? source([]) : null,
  }

  function source(asked: readonly string[]): CandidateSource {
    const match = matchText({ all: required, prefixes: asked, any: query.roles.map(scopes.role), none })
    return (upto, limit) =>
      all('candidates', { match, from, upto: Math.min(upto, latest), ...filters, limit })
  }
}

/** Best first, and among equals the newest. */
function rank(answers: readonly SearchAnswer[], query: SearchQuery): SearchAnswer[] {
  return answers
    .map(answer => ({ answer, score: score(answer.texts, query) }))
    .sort((a, b) => b.score - a.score)
    .map(({ answer }) => answer)
}

function* hitsOf(
  answers: readonly SearchAnswer[],
  query: SearchQuery,
  options: SearchOptions,
): Program<SearchHit[]> {
  if (answers.length === 0) return []
  const places = answers.map(({ row: { conv, seq } }) => ({ conv, seq }))
  const found = new Map((yield* all('foundMessages', { places })).map(row => [placeKey(row), row]))
  // A message that cannot be found again is damage, which `verify` reports.
  const shown = answers.filter(({ row }) => found.has(placeKey(row)))
  const rows = shown.map(({ row }) => found.get(placeKey(row))!)
  const messages = yield* readLoose(rows, 'preview')
  const held = new Map<string, string[]>()
  for (const { conv, seq, name } of yield* all('branchesHolding', { places })) {
    const key = placeKey({ conv, seq })
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
    branches: held.get(placeKey(row)) ?? [],
    snippet: cutSnippet(shown[i]!.texts, query, options.snippetLength),
  }))
}

function placeKey({ conv, seq }: { readonly conv: Conv; readonly seq: number }): string {
  return `${conv} ${seq}`
}
