import type { ConversationKind } from '../core/conversation.ts'
import type { ConversationId, MessageId } from '../core/ids.ts'
import type { SearchHit } from '../core/listing.ts'
import { type Message, textOf } from '../core/message.ts'
import type { Searcher } from '../core/ports.ts'
import { findTerm } from '../core/search/match.ts'
import type { Term } from '../core/search/term.ts'
import { tokenize } from '../core/search/tokenize.ts'
import { type SalientTerm, salientTerms } from './recall-terms.ts'

/** Where recalling looks. */
export interface RecallScope {
  /** The conversation that is to be told: it is not told of itself. */
  readonly exclude?: ConversationId
  /** Only conversations of this directory. */
  readonly directory?: string
  /** Which conversations; `main` unless said otherwise, so that the traces of subagents are left out. */
  readonly kind?: ConversationKind
  /** Only what was said before: a digest that is made again later is then the same. */
  readonly before?: Date
}

/** An earlier conversation that has to do with what a person says. */
export interface Relevant {
  readonly conversation: SearchHit['conversation']
  /** The message that fits best. */
  readonly best: SearchHit
  /** What a person said there that fits best, if that is another. */
  readonly question: Message | null
  /** The words that were found, for the snippets. */
  readonly terms: readonly Term[]
  readonly score: number
}

const mostTerms = 10
/** Messages that are looked at for each word, the newest. */
const mostHits = 30
/** Frequent words that are looked for in pairs as well, so that what has two of them is not hidden by what has one. */
const mostPaired = 4
const mostText = 20_000

/** One good word that few conversations have is enough, a common one is not. */
const least = 0.6
/** And it must be this part of all that was asked for, where little was asked for. */
const leastPart = 0.3
const enough = 4

/** The conversations that share the words that matter, most relevant first, among equals the newest. A word counts
 *  less the more conversations have it. Only what people and assistants said counts, not what tools brought. */
export async function findRelevant(
  store: Searcher,
  words: string,
  scope: RecallScope,
): Promise<readonly Relevant[]> {
  const terms = salientTerms(words, mostTerms)
  if (terms.length === 0) return []
  const found = assess(await hitsOf(store, terms, scope), terms)
  const talks = Map.groupBy(found, ({ hit }) => hit.conversation.id)
  const weights = weigh(terms, [...talks.values()])
  const total = terms.reduce((sum, term) => sum + weights.get(term)!, 0)
  const threshold = Math.max(least, leastPart * Math.min(total, enough))
  return [...talks.values()]
    .map(talk => relevance(talk, weights))
    .filter(({ score }) => score >= threshold)
    .sort(byRelevance)
}

async function hitsOf(
  store: Searcher,
  terms: readonly SalientTerm[],
  { exclude, directory, kind = 'main', before }: RecallScope,
): Promise<readonly SearchHit[]> {
  const filters = `role:user role:assistant${before ? ` before:${before.toISOString()}` : ''}`
  const narrow = { kind, limit: mostHits, ...(directory === undefined ? {} : { directory }) }
  const look = (query: string) => store.search(`${query} ${filters}`, narrow)
  const pages = await Promise.all(terms.map(({ query }) => look(query)))
  const frequent = terms.filter((_, i) => pages[i]!.next !== null).slice(0, mostPaired)
  const pairs = frequent.flatMap((a, i) => frequent.slice(i + 1).map(b => `${a.query} ${b.query}`))
  pages.push(...(await Promise.all(pairs.map(look))))
  const hits = new Map<MessageId, SearchHit>()
  for (const hit of pages.flatMap(({ items }) => items)) {
    if (hit.conversation.id !== exclude) hits.set(hit.message.id, hit)
  }
  return [...hits.values()]
}

interface Found {
  readonly hit: SearchHit
  readonly has: readonly SalientTerm[]
}

/** Which words each message really has in what was said: the search looks at thoughts and calls too. */
function assess(hits: readonly SearchHit[], terms: readonly SalientTerm[]): readonly Found[] {
  return hits.flatMap(hit => {
    const tokens = tokenize(textOf(hit.message).slice(0, mostText))
    const has = terms.filter(({ term }) => findTerm(tokens, term).length > 0)
    return has.length === 0 ? [] : [{ hit, has }]
  })
}

function weigh(
  terms: readonly SalientTerm[],
  talks: readonly (readonly Found[])[],
): ReadonlyMap<SalientTerm, number> {
  return new Map(
    terms.map(term => {
      const having = talks.filter(talk => talk.some(({ has }) => has.includes(term))).length
      return [term, term.weight / (1 + Math.log10(Math.max(1, having)))]
    }),
  )
}

/** The best message counts in full; what only others of the conversation have counts a quarter, for in a long
 *  one every word comes up some day. */
function relevance(talk: readonly Found[], weights: ReadonlyMap<SalientTerm, number>): Relevant {
  const sum = (some: Iterable<SalientTerm>) =>
    [...some].reduce((total, term) => total + weights.get(term)!, 0)
  const ranked = talk
    .map(found => ({ ...found, score: sum(found.has) }))
    .sort((a, b) => b.score - a.score || b.hit.message.seq - a.hit.message.seq)
  const best = ranked[0]!
  const all = new Set(talk.flatMap(({ has }) => has))
  const question = ranked.find(({ hit }) => hit.message.role === 'user' && hit !== best.hit)
  return {
    conversation: best.hit.conversation,
    best: best.hit,
    question: question?.hit.message ?? null,
    terms: [...all].map(({ term }) => term),
    score: best.score + (sum(all) - best.score) / 4,
  }
}

function byRelevance(a: Relevant, b: Relevant): number {
  const newer = b.best.message.createdAt.getTime() - a.best.message.createdAt.getTime()
  return b.score - a.score || newer || (a.conversation.id < b.conversation.id ? -1 : 1)
}
