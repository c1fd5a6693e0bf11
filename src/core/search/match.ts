import type { TextHit } from '../listing.ts'
import { clip } from './clip.ts'
import { isSimple, mayOccur } from './glance.ts'
import type { SearchQuery } from './query.ts'
import type { Term } from './term.ts'
import { type Token, tokenize } from './tokenize.ts'

/** The occurrences of a term in a text, given all its tokens: from left to right, without overlaps. */
export function findTerm(tokens: readonly Token[], term: Term): TextHit[] {
  const hits: TextHit[] = []
  let free = 0
  for (let i = 0; i < tokens.length; i++) {
    if (!fits(tokens[i]!, term, 0) || tokens[i]!.start < free) continue
    const last = term.parts.length === 1 ? i : followParts(tokens, i, term)
    if (last === null) continue
    free = tokens[last]!.end
    hits.push({ start: tokens[i]!.start, end: free })
  }
  return hits
}

/** An occurrence of one of several terms. */
export interface TermHit extends TextHit {
  /** The number of the term. */
  readonly term: number
}

/** The occurrences of several terms, in the order of their tokens. Sixty calls of `findTerm` would compare
 *  every token sixty times. */
export function findTerms(tokens: readonly Token[], terms: readonly Term[]): TermHit[] {
  const hits: TermHit[] = []
  const free = terms.map(() => 0)
  const isPrefix = ({ parts, prefix }: Term) => prefix && parts.length === 1
  const numbered = terms.map((term, number) => ({ term, number }))
  const prefixes = numbered.filter(({ term }) => isPrefix(term))
  const byFirstPart = Map.groupBy(
    numbered.filter(({ term }) => !isPrefix(term)),
    ({ term }) => term.parts[0]!,
  )
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!
    for (const one of byFirstPart.get(token.text) ?? nothing) add(i, one)
    for (const one of prefixes) if (fits(token, one.term, 0)) add(i, one)
  }
  return hits

  function add(i: number, { term, number }: { readonly term: Term; readonly number: number }): void {
    const { start } = tokens[i]!
    if (start < free[number]!) return
    const last = term.parts.length === 1 ? i : followParts(tokens, i, term)
    if (last === null) return
    free[number] = tokens[last]!.end
    hits.push({ start, end: free[number]!, term: number })
  }
}

const nothing: readonly never[] = []

/** Whether a message with these texts matches the words of the query: each wanted term occurs in at least
 *  one text, and no excluded term in any. The caller applies the filters (roles, conversation, dates). */
export function matches(texts: readonly string[], query: Pick<SearchQuery, 'all' | 'none'>): boolean {
  const looks = texts.map(text => lookInto(clip(text)))
  const occurs = (term: Term) => looks.some(holds => holds(term))
  return query.all.every(occurs) && !query.none.some(occurs)
}

/** Tokenizes the text once, and only for a term that `mayOccur` does not rule out. */
function lookInto(text: string): (term: Term) => boolean {
  const isPlain = isSimple(text)
  let tokens: Token[] | null = null
  return term => {
    if (isPlain && !mayOccur(text, term)) return false
    tokens ??= tokenize(text)
    return findTerm(tokens, term).length > 0
  }
}

/** Follows a term from its first part at `first` and returns the index of the token with its last part.
 *  Several tokens may begin at a position, and after the cut to 64 units even with the same text, hence the
 *  list. */
function followParts(tokens: readonly Token[], first: number, term: Term): number | null {
  let reached = [first]
  for (let part = 1; part < term.parts.length; part++) {
    const next: number[] = []
    for (const index of reached) {
      const { to } = tokens[index]!
      for (let i = index + 1; i < tokens.length && tokens[i]!.from <= to; i++) {
        if (tokens[i]!.from === to && fits(tokens[i]!, term, part) && !next.includes(i)) next.push(i)
      }
    }
    if (next.length === 0) return null
    reached = next
  }
  return reached[0]!
}

function fits(token: Token, term: Term, part: number): boolean {
  const wanted = term.parts[part]!
  if (term.prefix && part === term.parts.length - 1) return token.text.startsWith(wanted)
  return token.text === wanted
}
