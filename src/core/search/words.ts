import { ESCAPE, escapeEnd } from './escapes.ts'
import { asciiKinds, DIGIT, GLUE, letterOf } from './letters.ts'
import type { Token } from './tokenize.ts'

/** The length of the longest token, in UTF-16 units. */
const longest = 64
/** A word of more parts than this is a random id or encoded bytes, and nobody looks for a piece of it. */
const mostParts = 8

/** Cuts what is to be a token to its first 64 UTF-16 units, in the index as in a query, never through a character. */
export function cutToken(text: string): string {
  if (text.length <= longest) return text
  const lastUnit = text.charCodeAt(longest - 1)
  return text.slice(0, lastUnit >= 0xd800 && lastUnit <= 0xdbff ? longest - 1 : longest)
}

/** The token that the letters from `start` to `end` make: folded, and without the joiners between them. */
export function foldRange(text: string, start: number, end: number): string {
  let folded = ''
  let beyondAscii = 0
  for (let at = start; at < end && folded.length < longest; at++) {
    const code = text.charCodeAt(at)
    if (code === ESCAPE) {
      at = escapeEnd(text, at) - 1
    } else if (code < 128) {
      if (asciiKinds[code] !== GLUE) folded += text[at]!.toLowerCase()
    } else {
      const codePoint = text.codePointAt(at)!
      const letter = letterOf(codePoint)
      beyondAscii++
      if (codePoint > 0xffff) at++
      folded += letter.text
    }
  }
  // Each letter is composed by itself; two may compose with each other.
  return cutToken(beyondAscii > 1 ? folded.normalize('NFC') : folded)
}

/** Adds to the parts of one word, which stand in `tokens` from `first` on, what they make together: what is
 *  written together, for it is one part in a query; the whole word; and each two and three neighbours
 *  without digits, so that `fooBar` finds getFooBar. Bare numbers stay apart, so that 12 does not find 1-2. */
export function joinParts(text: string, tokens: Token[], first: number): void {
  const parts = tokens.splice(first)
  const count = parts.length
  let together = 0
  for (let i = 0; i < count; i++) {
    tokens.push(parts[i]!)
    let joinedTo = i + 1
    if (count <= mostParts && isName(parts[i]!)) {
      while (joinedTo < Math.min(i + 3, count) && isName(parts[joinedTo]!)) {
        tokens.push(join(text, parts, i, ++joinedTo))
      }
    }
    if (i >= together) {
      together = i + 1
      while (together < count && parts[together]!.start === parts[together - 1]!.end) together++
      if (together > joinedTo) tokens.push(join(text, parts, i, together))
      joinedTo = Math.max(joinedTo, together)
    }
    if (i === 0 && count > joinedTo && parts.some(part => /\D/.test(part.text))) {
      tokens.push(join(text, parts, 0, count))
    }
  }
}

function isName(part: Token): boolean {
  for (let at = 0; at < part.text.length; at++) {
    const code = part.text.charCodeAt(at)
    if (code < 128 && asciiKinds[code] === DIGIT) return false
  }
  return true
}

function join(text: string, parts: readonly Token[], from: number, to: number): Token {
  const { start } = parts[from]!
  const { end } = parts[to - 1]!
  let joined = ''
  for (let i = from; i < to && joined.length < longest; i++) joined += parts[i]!.text
  // Parts are cut, so beyond this length they may no longer add up to the word.
  if (joined.length >= longest - 1) joined = foldRange(text, start, end)
  return { text: joined, from: parts[from]!.from, to: parts[to - 1]!.to, start, end }
}
