import { letterKind, SPACELESS } from './letters.ts'
import type { Token } from './tokenize.ts'

/** Phrases of common words would have hundreds of thousands of candidates that contain the words apart. So
 *  the index also has, for each two adjacent tokens, one of 32,768 numbers: a message of a hundred words
 *  contains a given number by chance in one of 300 cases. Numbers instead of the two words: the list of all
 *  pairs of words would be larger than the rest of the index. */

const bits = 15
const digits = 'abcdefghijklmnopqrstuvwxyz234567'

/** Adds the numbers of all pairs of adjacent tokens of a text. The tokens are those of `tokenize`. */
export function addPairs(tokens: readonly Token[], found: Set<number>): void {
  const hashes = tokens.map(token => hash(token.text))
  // Tokens are ordered by `from`, so those that begin at a position follow each other.
  const starts: number[] = []
  for (let i = 0; i < tokens.length; i++) starts[tokens[i]!.from] ??= i
  for (let i = 0; i < tokens.length; i++) {
    const { to, text } = tokens[i]!
    for (let next = starts[to] ?? tokens.length; tokens[next]?.from === to; next++) {
      if (isPaired(text, tokens[next]!.text)) found.add(combine(hashes[i]!, hashes[next]!))
    }
  }
}

/** The number that the index entry of every message with these two adjacent parts contains, or null if the
 *  tokenizer already makes a token of the two. */
export function pairNumber(first: string, second: string): number | null {
  return isPaired(first, second) ? combine(hash(first), hash(second)) : null
}

/** A number as a token, for an index that only has tokens. No word of a text contains `=`. */
export function pairName(number: number): string {
  return `=p${digits[number >> 10]}${digits[(number >> 5) & 31]}${digits[number & 31]}`
}

/** Two letters of a script without spaces are one token. */
function isPaired(first: string, second: string): boolean {
  return !(isSpaceless(first) && isSpaceless(second))
}

function isSpaceless(text: string): boolean {
  return text.charCodeAt(0) >= 128 && letterKind(text.codePointAt(0)!) === SPACELESS
}

/** FNV-1a. The index stores the results: a change needs a migration that drops the index. */
function hash(text: string): number {
  let sum = 0x811c9dc5
  for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193)
  return sum
}

function combine(first: number, second: number): number {
  let sum = Math.imul(first, 0x9e3779b1) ^ second
  sum = Math.imul(sum ^ (sum >>> 15), 0x85ebca6b)
  return (sum ^ (sum >>> 13)) >>> (32 - bits)
}
