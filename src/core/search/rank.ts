import { clip } from './clip.ts'
import { isSimple } from './glance.ts'
import { asciiKinds, BREAK } from './letters.ts'
import { findTerm } from './match.ts'
import type { SearchQuery } from './query.ts'
import type { Term } from './term.ts'
import { type Token, tokenize } from './tokenize.ts'

/** How soon further occurrences stop counting, and the weight of the length: the usual values of BM25. */
const k1 = 1.2
const b = 0.75
/** The length, in UTF-16 units, of an average message. Fixed, so that a score depends on the message alone
 *  and is the same on every engine and every day. */
const averageLength = 1_000

/** How well a message matches a query: the sum, over the wanted terms, of a number from 0 to 1 that grows
 *  with the occurrences and shrinks with the length of the message. 0 if no wanted term occurs. */
export function score(texts: readonly string[], query: SearchQuery): number {
  const clipped = texts.map(clip)
  const length = clipped.reduce((sum, text) => sum + text.length, 0)
  const weight = k1 * (1 - b + (b * length) / averageLength)
  const counters = clipped.map(counter)
  let total = 0
  for (const term of query.all) {
    const count = counters.reduce((sum, countIn) => sum + countIn(term), 0)
    total += count / (count + weight)
  }
  return total
}

/** Counts occurrences of terms in a text. Tokenizes at most once, and only for terms that need it. */
function counter(text: string): (term: Term) => number {
  const isPlain = isSimple(text)
  let tokens: Token[] | null = null
  return term => {
    if (isPlain && term.parts.length === 1) return countOnePart(text, term)
    tokens ??= tokenize(text)
    return findTerm(tokens, term).length
  }
}

/** Tokenizes only the runs of letters, digits and joiners that may contain the term. In a simple text
 *  everything else ends a word, so a run alone has the same tokens as within the text. */
function countOnePart(text: string, term: Term): number {
  const pattern = patternOf(term)
  let count = 0
  let end = 0
  for (;;) {
    pattern.lastIndex = end
    const match = pattern.exec(text)
    if (match === null) return count
    let start = match.index
    end = pattern.lastIndex
    while (start > 0 && isWordUnit(text.charCodeAt(start - 1))) start--
    while (end < text.length && isWordUnit(text.charCodeAt(end))) end++
    const run = text.slice(start, end)
    count += run === term.parts[0] ? 1 : findTerm(tokenize(run), term).length
  }
}

function isWordUnit(code: number): boolean {
  return code < 128 && asciiKinds[code] !== BREAK
}

const patterns = new WeakMap<Term, RegExp>()

/** Matches every possible token of the term: in any case, and with joiners between any two letters. */
function patternOf(term: Term): RegExp {
  const known = patterns.get(term)
  if (known !== undefined) return known
  const pattern = new RegExp([...term.parts[0]!].join('[_-]?'), 'gi')
  patterns.set(term, pattern)
  return pattern
}
