import { InvalidError } from '../errors.ts'
import { hasTwoCharacters, type Term, termOf } from './term.ts'

export type { Term } from './term.ts'

/** A parsed query. Terms of `all` must occur, terms of `none` must not. The other fields filter the
 *  messages. */
export interface SearchQuery {
  readonly all: readonly Term[]
  readonly none: readonly Term[]
  /** Any of these roles. An empty list means every role. */
  readonly roles: readonly SearchRole[]
  /** The text after `in:`, an id prefix or a key. */
  readonly conversation: string | null
  readonly since: Date | null
  readonly before: Date | null
}

export type SearchRole = 'user' | 'assistant' | 'tool_result' | 'system'

const longestQuery = 4_096
const mostTerms = 64
/** Matching takes text length times this in the worst case. */
const mostParts = 128

const roleNames: Readonly<Record<string, SearchRole>> = {
  user: 'user',
  assistant: 'assistant',
  tool: 'tool_result',
  tool_result: 'tool_result',
  system: 'system',
  developer: 'system',
}

/** Parses a query: words (all must occur), `"a phrase"`, `pre*`, `-word`, `-"a phrase"`, `role:user`,
 *  `in:id-or-key`, `since:2026-08-14` and `before:7d`. A `-` negates only at the start of a word and only
 *  once (`foo-bar` and `--flag` are words). Other punctuation and case have no meaning. Throws InvalidError
 *  with the position of the error. */
export function parseQuery(text: string, now: Date): SearchQuery {
  if (text.length > longestQuery) throw invalid(`is longer than ${longestQuery} characters`, longestQuery)
  const all: Term[] = []
  const none: Term[] = []
  const roles = new Set<SearchRole>()
  const given = new Map<string, string | Date>()
  let firstNegation = 0

  for (const item of readItems(text)) {
    if (item.filter === null) {
      const term = readTerm(item)
      if (term === null) continue
      if (all.length + none.length === mostTerms) throw invalid(`has more than ${mostTerms} terms`, item.at)
      if (item.negated && none.length === 0) firstNegation = item.at
      ;(item.negated ? none : all).push(term)
    } else if (item.filter === 'role') {
      roles.add(readRole(item))
    } else {
      if (given.has(item.filter)) throw invalid(`has ${item.filter}: more than once`, item.at)
      given.set(item.filter, item.filter === 'in' ? readConversation(item) : readDate(item, now))
    }
  }

  if (all.length === 0 && roles.size === 0 && given.size === 0) {
    throw none.length > 0
      ? invalid('only says what not to find: add a word to look for, or a filter', firstNegation)
      : invalid('has nothing to look for', 0)
  }
  return {
    all,
    none,
    roles: [...roles],
    conversation: (given.get('in') as string | undefined) ?? null,
    since: (given.get('since') as Date | undefined) ?? null,
    before: (given.get('before') as Date | undefined) ?? null,
  }
}

type Filter = 'role' | 'in' | 'since' | 'before'

/** One word, phrase or filter of a query. */
interface Item {
  readonly at: number
  readonly negated: boolean
  readonly quoted: boolean
  readonly filter: Filter | null
  readonly value: string
  readonly valueAt: number
}

function* readItems(text: string): Generator<Item> {
  const space = /\s*/y
  const word = /[^\s"]*/y
  let at = 0

  function take(pattern: RegExp): string {
    pattern.lastIndex = at
    const [found] = pattern.exec(text)!
    at += found.length
    return found
  }

  function takeQuoted(): string {
    const close = text.indexOf('"', at + 1)
    if (close < 0) throw invalid('has a quote that is never closed', at)
    const quoted = text.slice(at + 1, close)
    at = close + 1
    return quoted
  }

  for (take(space); at < text.length; take(space)) {
    const start = at
    const wordStart = start === 0 || /\s/.test(text[start - 1]!)
    const negated = wordStart && text[at] === '-' && text[at + 1] !== '-'
    if (negated) {
      at++
      if (at === text.length || /\s/.test(text[at]!)) throw invalid('has a - that stands alone', start)
    }
    if (text[at] === '"') {
      const valueAt = at
      let value = takeQuoted().trim()
      if (text[at] === '*') {
        value += '*'
        at++
      }
      yield { at: start, negated, quoted: true, filter: null, value, valueAt }
      continue
    }
    let valueAt = at
    let value = take(word)
    const filter = (wordStart && /^(role|in|since|before):/.exec(value)?.[1]) || null
    if (filter !== null) {
      if (negated) throw invalid(`cannot negate ${filter}:`, start)
      valueAt += filter.length + 1
      value = value.slice(filter.length + 1)
      if (value === '' && text[at] === '"') value = takeQuoted()
      if (value === '') throw invalid(`has ${filter}: without a value`, valueAt)
    }
    yield { at: start, negated, quoted: false, filter: filter as Filter | null, value, valueAt }
  }
}

function readTerm(item: Item): Term | null {
  const term = termOf(item.value)
  if (term === null && item.quoted) throw invalid('has an empty phrase', item.valueAt)
  if (term === null) return null
  if (term.parts.length > mostParts)
    throw invalid(`has a phrase of more than ${mostParts} words`, item.valueAt)
  if (term.requiredPrefix !== null && !hasTwoCharacters(term.requiredPrefix)) {
    throw invalid('needs at least two characters before a *', item.valueAt)
  }
  return term
}

function readRole(item: Item): SearchRole {
  const name = item.value.toLowerCase()
  const role = Object.hasOwn(roleNames, name) ? roleNames[name] : undefined
  if (role !== undefined) return role
  throw invalid(`knows no such role: use ${Object.keys(roleNames).join(', ')}`, item.valueAt)
}

function readConversation(item: Item): string {
  if (!item.value.isWellFormed() || item.value.includes('\0')) {
    throw invalid('has an in: that is not text', item.valueAt)
  }
  return item.value
}

function readDate(item: Item, now: Date): Date {
  const date = parseWhen(item.value, now)
  if (date !== null) return date
  throw invalid(
    `does not understand this ${item.filter}: write 2026-08-14, 2026-08-14T09:30Z, 30m, 12h, 7d or 2w`,
    item.valueAt,
  )
}

function invalid(problem: string, position: number): InvalidError {
  return new InvalidError('query', problem, position)
}

const minutes: Readonly<Record<string, number>> = { m: 1, h: 60, d: 24 * 60, w: 7 * 24 * 60 }

const age = /^(\d{1,6})([mhdw])$/
const moment =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?([Zz]|[+-]\d\d:?\d\d)?)?$/

/** Reads a date (`2026-08-14`, midnight UTC), an ISO 8601 time (default: UTC) or an age before `now`
 *  (`30m`, `12h`, `7d`, `2w`). Null for any other text and for days that do not exist. */
function parseWhen(text: string, now: Date): Date | null {
  const ago = age.exec(text)
  if (ago) return new Date(now.getTime() - Number(ago[1]) * minutes[ago[2]!]! * 60_000)

  const match = moment.exec(text)
  if (!match) return null
  const [year, month, day, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map(digits => (digits === undefined ? undefined : Number(digits)))
  const millisecond = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3))
  const date = new Date(0)
  // Not Date.UTC, which reads the year 26 as 1926.
  date.setUTCFullYear(year!, month! - 1, day!)
  date.setUTCHours(hour, minute, second, millisecond)
  // A field out of range, as in 30 February or 25 o'clock, would have carried over.
  const kept =
    date.getUTCMonth() === month! - 1 &&
    date.getUTCDate() === day &&
    date.getUTCHours() === hour &&
    date.getUTCMinutes() === minute &&
    date.getUTCSeconds() === second
  const offset = offsetMinutes(match[8])
  return kept && offset !== null ? new Date(date.getTime() - offset * 60_000) : null
}

function offsetMinutes(zone: string | undefined): number | null {
  if (zone === undefined || zone === 'Z' || zone === 'z') return 0
  const hours = Number(zone.slice(1, 3))
  const rest = Number(zone.slice(-2))
  if (hours > 23 || rest > 59) return null
  return (zone[0] === '-' ? -1 : 1) * (hours * 60 + rest)
}
