import { hasEscapes } from './escapes.ts'
import type { Term } from './term.ts'

/** Beyond ASCII only the dashes, quotes and dots of ordinary prose, which all end a word. */
const simple = /^[\0-\x7f\u2010-\u2027]*$/

/** Whether a text holds nothing but ASCII letters and digits and what ends a word, so that patterns can say where
 *  tokens may lie. */
export function isSimple(text: string): boolean {
  return simple.test(text) && !hasEscapes(text)
}

/** Whether a term can occur in a simple text. Taking the text apart, to know it, takes ten times as long; most
 *  candidates for a phrase hold its words, but not side by side. */
export function mayOccur(text: string, term: Term): boolean {
  return patternOf(term)?.test(text) ?? true
}

const patterns = new WeakMap<Term, RegExp | null>()

/** As `cutToken` cuts: a part of this length may stand for a longer one. */
const cutLength = 64

/** The parts in any case, with joiners between any two letters and no letter between two parts; null where that does not
 *  say it all. */
function patternOf(term: Term): RegExp | null {
  const known = patterns.get(term)
  if (known !== undefined) return known
  const { parts } = term
  const isPlain = parts.every(part => part.length < cutLength && /^[a-z0-9]+$/.test(part))
  const pattern = isPlain
    ? new RegExp(parts.map(part => [...part].join('[_-]?')).join('[^a-z0-9]*'), 'i')
    : null
  patterns.set(term, pattern)
  return pattern
}
