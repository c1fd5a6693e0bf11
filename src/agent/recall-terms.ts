import { type Term, termOf } from '../core/search/term.ts'
import { tokenizeQuery } from '../core/search/tokenize.ts'
import { stopTokens } from './recall-stop-words.ts'

/** A word of a person that an earlier conversation may be known by. */
export interface SalientTerm {
  readonly term: Term
  /** The same as a query. */
  readonly query: string
  /** How much it says by itself, from 0 to 1: long words and those with digits say more than short ones. */
  readonly weight: number
}

/** Beyond this much of a text nothing new is learned of what it is about. */
const mostRead = 8_000
const longestWord = 64
/** What two letters of a script without spaces say: about half a word. */
const pairWeight = 0.4

/** The words that tell what a text is about, those that say most first: without the words of every conversation,
 *  and without short ones. English endings are taken off, and longer words stand for all that begin with them.
 *  Takes any string. */
export function salientTerms(words: string, most: number): readonly SalientTerm[] {
  const found = new Map<string, SalientTerm>()
  for (const [word] of words.slice(0, mostRead).matchAll(/[\p{L}\p{M}\p{N}]+(?:[_-][\p{L}\p{M}\p{N}]+)*/gu)) {
    if (word.length > longestWord) continue
    for (const term of termsIn(word)) {
      const key = term.term.parts.join(' ')
      if (!found.has(key)) found.set(key, term)
    }
  }
  return [...found.values()].sort((a, b) => b.weight - a.weight).slice(0, most)
}

function termsIn(word: string): readonly SalientTerm[] {
  const tokens = tokenizeQuery(word)
  const pairs = tokens.filter(({ from, to }) => to - from === 2).map(({ text }) => text)
  if (pairs.length > 0) {
    return pairs.filter(pair => !stopTokens.has(pair)).flatMap(pair => salient(pair, pairWeight))
  }
  const parts = tokens.map(({ text }) => text)
  if (parts.every(part => stopTokens.has(part))) return []
  const [part = ''] = parts
  const letters = parts.join('')
  const hasDigit = /\p{N}/u.test(letters)
  if (hasDigit && /\p{L}/u.test(letters)) return letters.length < 2 ? [] : salient(word, 1)
  if (hasDigit) return letters.length < 3 ? [] : salient(word, 0.5)
  if (letters.length < 3) return []
  const weight = Math.min(1, Math.max(0.25, (letters.length - 2) / 5))
  if (parts.length > 1 || !/^[a-z]{5,}$/.test(part)) return salient(word, weight)
  const stem = part.replace(/(?<=^.{5,})(?:ing|ed|es|s)$/, '')
  return stopTokens.has(stem) ? [] : salient(`${stem}*`, weight)
}

function salient(query: string, weight: number): readonly SalientTerm[] {
  const term = termOf(query)
  return term === null ? [] : [{ term, query, weight }]
}
