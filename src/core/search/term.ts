import { EMOJI, FOLLOWER, letterKind, SPACELESS } from './letters.ts'
import { tokenizeQuery } from './tokenize.ts'

/** One thing a query asks for: a word, a prefix or a phrase. */
export interface Term {
  /** Parts that must stand next to each other, in this order. */
  readonly parts: readonly string[]
  /** The last part is a prefix. */
  readonly prefix: boolean
  /** Token texts that the index of every matching message contains, all of them; the prefix is not among them. */
  readonly required: readonly string[]
  /** The index of every matching message contains a token beginning with this; null if that says nothing more. */
  readonly requiredPrefix: string | null
  /** The index alone cannot decide: `findTerm` must look at the texts. */
  readonly check: boolean
}

/** Enough to narrow the candidates down; a pasted page would make a database query of a thousand terms. */
const mostRequired = 16

/** What a word or phrase asks for, or null if nothing in it can be searched for. Its parts are in order,
 *  whatever joins or separates them: `src/foo.ts`, `12:30`, `foo bar`. A star right after the last part makes it a
 *  prefix; any other is punctuation. */
export function termOf(text: string): Term | null {
  const tokens = tokenizeQuery(text)
  const last = tokens.at(-1)
  if (last === undefined) return null
  const parts = tokens.filter(token => token.to - token.from === 1).map(token => token.text)
  // A letter that is a part by itself begins nothing longer.
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
    required: mostSelective([...required]),
    // One letter begins a good part of all tokens: beside other parts it is not worth asking.
    requiredPrefix: prefix && (parts.length === 1 || hasTwoCharacters(last.text)) ? last.text : null,
    check: parts.length > 1 && !(pairs.length === 1 && parts.length === 2),
  }
}

/** Whether a part is one character by nature: a letter of a spaceless script, or an emoji. */
function standsAlone(part: string): boolean {
  const codePoint = part.codePointAt(0)!
  if (codePoint < 128) return false
  const kind = letterKind(codePoint)
  return kind === SPACELESS || kind === FOLLOWER || kind === EMOJI
}

/** Whether a prefix is long enough to look for by itself. */
export function hasTwoCharacters(part: string): boolean {
  return part.length > (part.codePointAt(0)! > 0xffff ? 2 : 1)
}

/** The longest, since long tokens are rare ones. */
function mostSelective(tokens: readonly string[]): readonly string[] {
  if (tokens.length <= mostRequired) return tokens
  return tokens.toSorted((a, b) => b.length - a.length).slice(0, mostRequired)
}
