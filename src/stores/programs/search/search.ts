import { latestTime } from '../../../core/check.ts'
import type { ConversationKind } from '../../../core/conversation.ts'
import type { ConversationId } from '../../../core/ids.ts'
import type { SearchFilter, SearchOptions } from '../../../core/listing.ts'
import { pairName } from '../../../core/search/pairs.ts'
import type { SearchQuery } from '../../../core/search/query.ts'
import { longestOf } from '../../../core/search/term.ts'
import { all, type Engine, first, indexForms, later, type Program } from '../../engine/engine.ts'
import type { ListParams } from '../../engine/list-params.ts'
import type { CandidateRow, Conv } from '../../engine/rows.ts'
import { scopeParams } from '../list.ts'
import { conversationIdsWith, resolve } from '../resolve.ts'
import { scopes } from './search-index.ts'

/** Where candidates come from. */
export interface CandidateSource {
  /** The newest messages that may match, from this time or before, in any order. With `after`, only later
   *  ones. */
  read(upto: number, limit: number, after?: number): Program<readonly CandidateRow[]>
  /** The same together with the next statement. */
  readLater(upto: number, limit: number): Program<() => readonly CandidateRow[]>
  /** The same unless messages with all prefixes are common, for which an engine may return none. */
  readRare(upto: number, limit: number): Program<readonly CandidateRow[]>
  /** The time of the match of the index that follows the newest `span` ones, also of those that a filter by
   *  directory or kind rejects. Undefined if there are not so many. */
  floor(upto: number, span: number): Program<number | undefined>
}

/** Where a search looks. */
export interface SearchPlan {
  /** The matches of the index for all words and for these prefixes. */
  readonly matching: (prefixes: readonly string[]) => CandidateSource
  /** The matches for all words, without the filters by directory and kind. */
  readonly unfiltered: CandidateSource
  readonly prefixes: readonly string[]
  /** Whether the index is asked for every word and prefix of the query. */
  readonly isComplete: boolean
  /** Whether the index must look at messages that a filter by directory or kind rejects. */
  readonly isFiltered: boolean
  /** Whether the candidates of a statement are compared with a set of conversations. Each statement must end
   *  at a `floor` then. */
  readonly isCompared: boolean
  readonly filters: SearchFilters
}

/** Most words that the index is asked for, and most that it excludes. If no message has all of them, it
 *  compares their lists to the end, in one piece: 3 ms for each common word of 1,000,000 messages. The texts
 *  of the candidates decide about the others. */
const mostWords = 6

/** The same for prefixes, which take longer. */
const mostPrefixes = 2

/** Most conversations that the index is asked for by name. */
const mostNamed = 1_000

/** More than the matches between a floor and the time that it was made for. */
const mostCompared = 1_000_000

/** The conditions that are not words. */
export interface SearchFilters {
  /** Only these conversations. Null: all. */
  readonly convs: ReadonlySet<Conv> | null
  readonly directories: readonly string[] | null
  readonly kind: ConversationKind | null
  /** Milliseconds, both included. */
  readonly from: number
  readonly latest: number
  /** Any of these roles. An empty list means every role. */
  readonly roles: readonly string[]
}

/** Plans a search in these conversations (null: all), or in those that each statement looks up itself. */
export function* planSearch(
  query: SearchQuery,
  options: SearchOptions,
  { indexForm, matchText }: Pick<Engine, 'indexForm' | 'matchText'>,
  { convs = null, lookup = null }: { convs?: ReadonlySet<Conv> | null; lookup?: ListParams | null },
): Program<SearchPlan> {
  const words = [...new Set(query.all.flatMap(term => term.required))]
  const begun = query.all.flatMap(term => (term.requiredPrefix === null ? [] : [term.requiredPrefix]))
  // The index can exclude a word that it decides alone, but not a phrase.
  const excluded = query.none.filter(term => !term.check && !term.prefix).flatMap(term => term.required)
  const required = [...longestOf(words, mostWords)]
  const none = longestOf(excluded, mostWords)
  const prefixes = longestOf(begun, mostPrefixes)
  const isComplete =
    required.length === words.length && none.length === excluded.length && prefixes.length === begun.length
  const asNumbers = query.all.flatMap(term => term.pairs).slice(0, mostWords)
  // A file that cannot be written may have an index of an older version.
  const form = asNumbers.length > 0 ? (indexForm ?? (yield* first('indexForm', {}))?.form) : undefined
  if (form === indexForms.pairTokens) required.push(...asNumbers.map(pairName))
  const pairs = form === indexForms.pairNumbers ? asNumbers : null
  // The index is asked for each of a few conversations by name. The matches of many are read and compared.
  const members = convs !== null && convs.size > mostNamed ? convs : null
  // Of no conversation: a token that no entry has.
  const named = convs === null || members !== null ? [] : [...convs].map(scopes.conversation)
  const places = convs?.size === 0 ? ['=c'] : named
  const any = [query.roles.map(scopes.role), places]
  const from = query.since?.getTime() ?? 0
  const latest = query.before ? query.before.getTime() - 1 : latestTime
  const { directory, kind = null } = options
  const directories = typeof directory === 'string' ? [directory] : (directory ?? null)
  const isFiltered = directories !== null || kind !== null || members !== null
  return {
    matching: asked => source(asked, { directories, kind }),
    unfiltered: source([], { directories: null, kind: null }, null),
    prefixes,
    isComplete,
    isFiltered,
    isCompared: members !== null,
    filters: { convs, directories, kind, from, latest, roles: query.roles },
  }

  function source(
    asked: readonly string[],
    filters: Pick<SearchFilters, 'directories' | 'kind'>,
    isMember = members,
  ): CandidateSource {
    const groups = any.filter(list => list.length > 0)
    const isNamed = named.length > 0 && filters.directories === null && filters.kind === null
    // Only if nothing else is required: the index would read the list of all messages too.
    const words = required.length === 0 && asked.length === 0 ? [scopes.everything] : required
    const match = matchText({ all: words, prefixes: asked, any: groups, none })
    const nameOf = lookup === null ? 'candidates' : 'scopedCandidates'
    const paramsOf = (upto: number, limit: number, after = -1, rare: string | null = null) => ({
      ...(lookup as ListParams),
      match,
      pairs,
      from: Math.max(from, after + 1),
      upto: Math.min(upto, latest),
      ...filters,
      rare,
      convs: isNamed ? [...convs!] : null,
      limit: isMember === null ? limit : mostCompared,
    })
    return {
      readLater: (upto, limit) => later(nameOf, paramsOf(upto, limit)),
      readRare(upto, limit) {
        const rare = matchText({ all: [], prefixes: asked, any: [], none: [] })
        return all(nameOf, paramsOf(upto, limit, -1, rare))
      },
      *read(upto, limit, after) {
        const rows = yield* all(nameOf, paramsOf(upto, limit, after))
        if (isMember === null) return rows
        const own = rows.filter(({ conv }) => isMember.has(conv))
        return own.sort((a, b) => b.at - a.at).slice(0, limit)
      },
      *floor(upto, span) {
        return (yield* first('searchFloor', { match, pairs, from, upto: Math.min(upto, latest), span }))?.at
      },
    }
  }
}

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

/** What limits a search to some conversations: the statement that finds them. Null: it searches all. */
export function scopeLookup({ conversation }: SearchQuery, options: SearchOptions): ListParams | null {
  const filter = filterOf(options)
  const ids = options.conversations ?? null
  if (filter === null && ids === null && conversation === null) return null
  return scopeParams(
    filter ?? {},
    ids,
    conversation === null ? null : { key: conversation, ids: conversationIdsWith(conversation) },
  )
}

/** The conversations to search. Null: all. Throws NotFoundError if `in:` names none. */
export function* readScope(query: SearchQuery, options: SearchOptions): Program<ReadonlySet<Conv> | null> {
  const lookup = scopeLookup(query, options)
  if (lookup === null) return null
  const rows = yield* all('scopeConversations', lookup)
  const other = yield* otherName(query, rows)
  return other ? yield* readScope({ ...query, conversation: other }, options) : convsIn(rows)
}

export function convsIn(rows: readonly { readonly conv: Conv }[]): ReadonlySet<Conv> {
  return new Set(rows.map(({ conv }) => conv))
}

/** The conversation that `in:` names, if the lookup has found nothing by it: then what a person may type is
 *  resolved as everywhere. Throws NotFoundError. */
export function* otherName(
  { conversation: text }: SearchQuery,
  found: readonly unknown[],
): Program<ConversationId | null> {
  if (text === null || found.length > 0) return null
  const id = idIn(text)
  const withId = id === null ? () => [] : yield* later('conversationById', { id })
  const withKey = yield* first('conversationByKey', { key: text })
  // It exists, and another condition excludes it.
  if (withKey || withId().length > 0) return null
  return (yield* resolve(text)).conversation.id
}

function idIn(text: string): string | null {
  const id = text.toLowerCase()
  return uuid.test(id) ? id : null
}

/** The filters that only the tables of conversations can decide. */
function filterOf(options: SearchFilter): SearchFilter | null {
  const { channel, project, keyPrefix, labelPrefix, tag, metadata } = options
  const filter = { channel, project, keyPrefix, labelPrefix, tag, metadata } as SearchFilter
  return Object.values(filter).every(value => value === undefined) ? null : filter
}
