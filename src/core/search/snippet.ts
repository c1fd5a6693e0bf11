import { clip } from './clip.ts'
import { withoutEscapes } from './escapes.ts'
import { findTerm, type Hit } from './match.ts'
import type { SearchQuery } from './query.ts'
import { tokenize } from './tokenize.ts'

/** A piece of a message to show with a search hit. */
export interface Snippet {
  /** One line: white space and control characters are single spaces, a cut end is an ellipsis. */
  readonly text: string
  /** UTF-16 ranges in `text` to mark, in order and apart. */
  readonly marks: readonly Hit[]
}

/** Cuts out the stretch of about `length` characters in which most of the query's terms occur, the earliest if
 *  several do. Without anything to look for, or to be found, it is the beginning of the first text. */
export function cutSnippet(texts: readonly string[], query: SearchQuery, length = 160): Snippet {
  let best: Stretch | null = null
  for (const text of texts) {
    const line = asLine(text)
    const tokens = tokenize(line)
    const found = query.all.flatMap((term, index) =>
      findTerm(tokens, term).map(hit => ({ ...hit, term: index })),
    )
    const stretch = richest(
      line,
      found.sort((a, b) => a.start - b.start || a.end - b.end),
      length,
    )
    if (stretch !== null && (best === null || stretch.terms > best.terms)) best = stretch
  }
  if (best === null) best = { line: asLine(texts[0] ?? ''), hits: [], first: 0, last: 0, terms: 0 }
  return cut(best, length)
}

interface TermHit extends Hit {
  readonly term: number
}

/** Hits of a line, and which stretch of them is to be seen. */
interface Stretch {
  readonly line: string
  readonly hits: readonly TermHit[]
  /** Offsets in the line of what must be seen. */
  readonly first: number
  readonly last: number
  /** How many different terms lie between them. */
  readonly terms: number
}

/** The stretch of at most `length` with the most different terms; one hit if none fits. */
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
  // What is to be seen stands a little before the middle; what one side cannot use the other gets.
  const lead = Math.min(first, Math.max(Math.floor(room / 3), room - (line.length - first - seen)))
  const from = lead === first ? 0 : startOfWord(line, first - lead, first)
  const to =
    from + length >= line.length
      ? line.length
      : endOfWord(line, from + length, last - first > length ? first : last)
  const before = from > 0 ? ellipsis : ''
  const after = to < line.length ? ellipsis : ''
  const shift = before.length - from
  return {
    text: before + line.slice(from, to) + after,
    marks: visible(hits, from, to).map(({ start, end }) => ({ start: start + shift, end: end + shift })),
  }
}

const ellipsis = '\u2026'
/** How far to look for a space to cut at, before a word is cut. */
const reach = 24

function startOfWord(line: string, at: number, upto: number): number {
  const space = line.indexOf(' ', at - 1)
  return space >= 0 && space < upto && space - at < reach ? space + 1 : startOfCharacter(line, at)
}

function endOfWord(line: string, at: number, downto: number): number {
  const space = line.lastIndexOf(' ', at)
  return space >= downto && at - space < reach ? space : startOfCharacter(line, at)
}

/** The nearest place at or before `at` that is not inside a surrogate pair, nor before an accent or in
 *  an emoji sequence. Gives up on long chains of those. */
function startOfCharacter(line: string, at: number): number {
  for (let place = at; place > 0 && place > at - reach; place--) {
    const here = line.codePointAt(place)
    const insidePair = line.codePointAt(place - 1)! > 0xffff
    const joined = line[place - 1] === '\u200d'
    if (here === undefined || !(insidePair || joined || isAttached(String.fromCodePoint(here)))) return place
  }
  return line.codePointAt(at - 1)! > 0xffff ? at - 1 : at
}

function isAttached(char: string): boolean {
  return /[\p{M}\p{Emoji_Modifier}\u200d]/u.test(char)
}

/** The hits between `from` and `to`, cut to that, those that overlap as one. */
function visible(hits: readonly Hit[], from: number, to: number): Hit[] {
  const marks: Hit[] = []
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

/** What is left out or replaced here are no letters to the tokeniser, so that the line has the tokens of the text. */
function asLine(text: string): string {
  return withoutEscapes(clip(text).toWellFormed())
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
}
