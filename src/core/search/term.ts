import { EMOJI, FOLLOWER, letterKind, SPACELESS } from './letters.ts'
import { pairNumber } from './pairs.ts'
import { tokenizeQuery } from './tokenize.ts'

/** A word, a prefix or a phrase of a query. */
export interface Term {
  /** Parts that must be adjacent and in this order. */
  readonly parts: readonly string[]
  /** The last part is a prefix. */
  readonly prefix: boolean
  /** Tokens that the index entry of every matching message contains, without the prefix. */
  readonly required: readonly string[]
  /** The numbers of adjacent parts, which it contains too. */
  readonly pairs: readonly number[]
  /** The index entry of every matching message contains a token with this prefix. Null if the prefix adds
   *  no information. */
  readonly requiredPrefix: string | null
  /** The index alone cannot decide: `findTerm` must check the texts. */
  readonly check: boolean
}

/** Enough to narrow the candidates. A pasted page would otherwise become a database query of a thousand
 *  terms. */
const mostRequired = 16

/** The term for a word or phrase, or null if nothing in it can be searched. Its parts are in order, however
 *  they are joined or separated: `src/foo.ts`, `12:30`, `foo bar`. A star right after the last part makes
 *  it a prefix. Any other star is punctuation. */
export function termOf(text: string): Term | null {
  const tokens = tokenizeQuery(text)
  const last = tokens.at(-1)
  if (last === undefined) return null
  const parts = tokens.filter(token => token.to - token.from === 1).map(token => token.text)
  // A part that is a single letter cannot be a prefix of anything longer.
  const prefix = text.endsWith('*') && last.end === text.length - 1 && !standsAlone(last.text)
  const whole = prefix ? parts.length - 1 : parts.length
  const pairs = tokens.filter(token => token.to - token.from === 2)
  const paired = new Set(pairs.flatMap(pair => [pair.from, pair.from + 1]))
  const required = new Set(pairs.map(pair => pair.text))
  for (let position = 0; position < whole; position++) {
    if (!paired.has(position)) required.add(parts[position]!)
  }
  return {
    parts,
    prefix,
    required: longestOf([...required], mostRequired),
    pairs: pairsOf(parts.slice(0, whole)),
    // A single letter begins many tokens, so it is not worth a lookup next to other parts.
    requiredPrefix: prefix && (parts.length === 1 || hasTwoCharacters(last.text)) ? last.text : null,
    check: parts.length > 1 && !(pairs.length === 1 && parts.length === 2),
  }
}

/** The index has a number for each two adjacent parts. */
function pairsOf(parts: readonly string[]): readonly number[] {
  const pairs = parts.slice(1).flatMap((part, i) => pairNumber(parts[i]!, part) ?? [])
  return [...new Set(pairs)].slice(0, mostRequired)
}

/** Whether a part is always one character: a letter of a spaceless script, or an emoji. */
function standsAlone(part: string): boolean {
  const codePoint = part.codePointAt(0)!
  if (codePoint < 128) return false
  const kind = letterKind(codePoint)
  return kind === SPACELESS || kind === FOLLOWER || kind === EMOJI
}

/** Whether a prefix is long enough to be looked up alone. */
export function hasTwoCharacters(part: string): boolean {
  return part.length > (part.codePointAt(0)! > 0xffff ? 2 : 1)
}

/** The longest tokens, at most so many: long tokens are rare. */
export function longestOf(tokens: readonly string[], most: number): readonly string[] {
  if (tokens.length <= most) return tokens
  return tokens.toSorted((a, b) => b.length - a.length).slice(0, most)
}
