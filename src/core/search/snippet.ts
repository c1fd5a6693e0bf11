import type { Snippet, TextHit } from '../listing.ts'
import { clip } from './clip.ts'
import { withoutEscapes } from './escapes.ts'
import { findTerms, type TermHit } from './match.ts'
import type { SearchQuery } from './query.ts'
import { tokenize } from './tokenize.ts'

/** A stretch with so many terms is good enough: no further ones are looked for. */
const enoughTerms = 8

/** Characters to examine after which the best stretch so far is taken: 5 to 25 ms. */
const mostExamined = 200_000

/** Cuts out the stretch of about `length` characters that contains the most terms of the query, the
 *  earliest of several. If there are no terms or no hits, it is the beginning of the first text. */
export function cutSnippet(texts: readonly string[], query: SearchQuery, length = 160): Snippet {
  const enough = Math.min(query.all.length, enoughTerms)
  let best: Stretch | null = null
  let examined = 0
  for (const text of enough === 0 ? [] : texts) {
    const { stretch, size } = stretchIn(text, query, length, enough)
    if (stretch !== null && (best === null || stretch.terms > best.terms)) best = stretch
    examined += size
    if (best !== null && (best.terms >= enough || examined >= mostExamined)) break
  }
  if (best === null) best = { line: asLine(texts[0] ?? ''), hits: [], first: 0, last: 0, terms: 0 }
  return cut(best, length)
}

/** The stretch of a text with the most terms, and how much was examined. Reads only as much as necessary:
 *  tokenizing all of it takes longer than the search that found it. */
function stretchIn(
  text: string,
  query: SearchQuery,
  length: number,
  enough: number,
): { readonly stretch: Stretch | null; readonly size: number } {
  const line = asLine(text)
  const begin = firstChance(line, query)
  if (begin === null) return { stretch: null, size: 0 }
  for (let size = length + 2 * longestToken; ; size *= 8) {
    const isRest = begin + size >= line.length
    const piece = line.slice(begin, isRest ? undefined : begin + size)
    const tokens = tokenize(piece)
    const found = findTerms(tokens, query.all).map(({ start, end, term }) => {
      return { start: begin + start, end: begin + end, term }
    })
    const stretch = richest(
      line,
      found.sort((a, b) => a.start - b.start || a.end - b.end),
      length,
    )
    // No other stretch needs to have more terms. The snippet ends before a word that may have been cut here.
    const isBest =
      stretch !== null &&
      stretch.terms >= enough &&
      Math.max(stretch.last, stretch.first + length) + longestToken < begin + piece.length
    if (isRest || isBest) return { stretch, size: piece.length }
  }
}

/** Longer than a token with the characters between its parts. */
const longestToken = 136

/** The start of the first word that can be a hit, or null if none can. */
function firstChance(line: string, { all }: SearchQuery): number | null {
  // Other letters can be spelled in many ways.
  if (/[^ -~]/.test(line)) return 0
  const places = all.map(({ parts }) => line.search(spelling(parts[0]!))).filter(place => place >= 0)
  return places.length === 0 ? null : line.lastIndexOf(' ', Math.min(...places)) + 1
}

/** A part as written in ASCII: in any case, and in pieces joined by `_` or `-`. */
function spelling(part: string): RegExp {
  return /^[a-z0-9]+$/.test(part) ? new RegExp([...part].join('[_-]?'), 'i') : /$^/
}

/** Hits of a line, and the stretch of them to show. */
interface Stretch {
  readonly line: string
  readonly hits: readonly TermHit[]
  /** Offsets in the line of the part to show. */
  readonly first: number
  readonly last: number
  /** How many different terms are between them. */
  readonly terms: number
}

/** The stretch of at most `length` with the most different terms, or one hit if none fits. */
function richest(line: string, hits: readonly TermHit[], length: number): Stretch | null {
  let best: Stretch | null = null
  const inside = new Map<number, number>()
  let next = 0
  for (const [index, hit] of hits.entries()) {
    while (next < hits.length && (next <= index || hits[next]!.end - hit.start <= length)) {
      const { term } = hits[next++]!
      inside.set(term, (inside.get(term) ?? 0) + 1)
    }
    if (best === null || inside.size > best.terms) {
      const last = hits.slice(index, next).reduce((end, each) => Math.max(end, each.end), hit.end)
      best = { line, hits, first: hit.start, last, terms: inside.size }
    }
    const left = inside.get(hit.term)! - 1
    if (left > 0) inside.set(hit.term, left)
    else inside.delete(hit.term)
  }
  return best
}

function cut({ line, hits, first, last }: Stretch, length: number): Snippet {
  const seen = Math.min(last - first, length)
  const room = length - seen
  // The hits are a little before the middle. One side gets the room that the other cannot use.
  const lead = Math.min(first, Math.max(Math.floor(room / 3), room - (line.length - first - seen)))
  // Not so far to the left, to keep a character whole, that the hits are cut off on the right.
  const leftmost = outsidePair(line, first + seen - length)
  const from = lead === first ? 0 : Math.max(leftmost, startOfWord(line, first - lead, first))
  const to = from + length >= line.length ? line.length : endOf(from + length)
  const before = from > 0 ? ellipsis : ''
  const after = to < line.length ? ellipsis : ''
  const shift = before.length - from
  return {
    text: before + line.slice(from, to) + after,
    marks: visible(hits, from, to).map(({ start, end }) => ({ start: start + shift, end: end + shift })),
  }

  function endOf(at: number): number {
    const end = endOfWord(line, at, last - first > length ? first : last)
    return end > first ? end : outsidePair(line, at)
  }
}

const ellipsis = '\u2026'
/** How far to look for a space before cutting a word. */
const reach = 24

function startOfWord(line: string, at: number, upto: number): number {
  const space = line.indexOf(' ', at - 1)
  return space >= 0 && space < upto && space - at < reach ? space + 1 : startOfCharacter(line, at)
}

function endOfWord(line: string, at: number, downto: number): number {
  const space = line.lastIndexOf(' ', at)
  return space >= downto && at - space < reach ? space : startOfCharacter(line, at)
}

/** The nearest position at or before `at` that is not inside a surrogate pair, before an accent or in an
 *  emoji sequence. Gives up on long chains of those. */
function startOfCharacter(line: string, at: number): number {
  for (let place = at; place > 0 && place > at - reach; place--) {
    const here = line.codePointAt(place)
    const insidePair = line.codePointAt(place - 1)! > 0xffff
    const joined = line[place - 1] === '\u200d'
    if (here === undefined || !(insidePair || joined || isAttached(String.fromCodePoint(here)))) return place
  }
  return line.codePointAt(at - 1)! > 0xffff ? at - 1 : at
}

/** The position itself, or the next one if it is inside a surrogate pair. */
function outsidePair(line: string, at: number): number {
  return at > 0 && line.codePointAt(at - 1)! > 0xffff ? at + 1 : at
}

function isAttached(char: string): boolean {
  return /[\p{M}\p{Emoji_Modifier}\u200d]/u.test(char)
}

/** The hits between `from` and `to`, cut to that range, with overlapping ones joined. */
function visible(hits: readonly TextHit[], from: number, to: number): TextHit[] {
  const marks: TextHit[] = []
  for (const hit of hits) {
    const start = Math.max(hit.start, from)
    const end = Math.min(hit.end, to)
    const last = marks.at(-1)
    if (start >= end) continue
    if (last === undefined || start >= last.end) marks.push({ start, end })
    else if (end > last.end) marks[marks.length - 1] = { start: last.start, end }
  }
  return marks
}

// Control characters by their numbers: V8 takes longer to look up \p{Cc} than to search.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const spaces = /[\s\x00-\x1f\x7f-\x9f]+/g

/** The characters removed or replaced here are not letters, so the line has the same tokens as the text. */
function asLine(text: string): string {
  return withoutEscapes(clip(text).toWellFormed()).replace(spaces, ' ').trim()
}
