import { hasEscapes } from './escapes.ts'
import type { Term } from './term.ts'

/** Beyond ASCII only the dashes, quotes and dots of prose, which all end a word. */
const simple = /^[\0-\x7f\u2010-\u2027]*$/

/** Whether a text consists of ASCII letters, digits and characters that end a word, so that a pattern can
 *  find possible tokens. */
export function isSimple(text: string): boolean {
  return simple.test(text) && !hasEscapes(text)
}

/** Whether a term can occur in a simple text. Tokenizing the text to know for certain takes ten times as
 *  long. Most candidates for a phrase contain its words, but not next to each other. */
export function mayOccur(text: string, term: Term): boolean {
  const pattern = patternOf(term)
  return pattern === 'never' ? false : (pattern?.test(text) ?? true)
}

const patterns = new WeakMap<Term, RegExp | 'never' | null>()

/** As in `cutToken`: a part of this length may be the beginning of a longer one. */
const cutLength = 64

/** Matches the parts in any case, with joiners between any two letters and no letter between two parts. Null
 *  if a pattern cannot express the term. A letter beyond ASCII is in no simple text. */
function patternOf(term: Term): RegExp | 'never' | null {
  const known = patterns.get(term)
  if (known !== undefined) return known
  const { parts } = term
  const isAscii = parts.every(part => /^[a-z0-9]+$/.test(part))
  const isShort = parts.every(part => part.length < cutLength)
  const pattern = !isAscii
    ? 'never'
    : isShort
      ? new RegExp(parts.map(part => [...part].join('[_-]?')).join('[^a-z0-9]*'), 'i')
      : null
  patterns.set(term, pattern)
  return pattern
}
