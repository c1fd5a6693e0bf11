import { clip, utf8Length } from './clip.ts'
import { ESCAPE, escapeEnd } from './escapes.ts'
import {
  asciiKinds,
  BREAK,
  DIGIT,
  EMOJI,
  FOLLOWER,
  GLUE,
  isOwnFold,
  LOWER,
  letterKind,
  letterOf,
  SILENT,
  SPACELESS,
  UPPER,
} from './letters.ts'

/** A text that can be searched for, and where it stands. */
export interface Token {
  readonly text: string
  /** Part positions [from, to): parts are counted through the text, and a token covers one or more of them. */
  readonly from: number
  readonly to: number
  /** UTF-16 offsets [start, end) in the source text. */
  readonly start: number
  readonly end: number
}

/** All that can be searched for in a text, ordered by `from`, then by `to`. Takes any string, in linear time.
 *
 *  A *part* is a run of letters and digits, folded (see `letterOf`), and ends where the case says so:
 *  `fooBar` is foo bar, `HTTPServer` http server, `APIs` apis. Digits belong to what stands before them, and
 *  end a part only before a capitalised word: `parseJSON5` is parse json5, `base64Decode` base64 decode,
 *  `9F86D081` one part.
 *
 *  A *word* is parts written together or joined by one `_` or `-`. It is kept whole as well (see `joinParts`):
 *  `foobar` finds fooBar, foo_bar and foo-bar. Every other character ends a word, `.` and `/` too.
 *
 *  Emoji are a part each, and so are the letters of scripts without spaces (Han, kana, Hangul, Thai ...). Two such
 *  letters in neighbouring positions are also a token, whatever line end or punctuation lies between them. */
export function tokenize(text: string): Token[] {
  return scan(text, 'text')
}

/** What a query asks for: parts, and pairs of spaceless letters. Case does not split here and nothing is
 *  joined, so that `WebSocket` finds all that `websocket` finds. */
export function tokenizeQuery(text: string): Token[] {
  return scan(text, 'query')
}

/** PostgreSQL refuses a tsvector of 1 MB; this much token text stays clear of it. */
const mostIndexedBytes = 512 * 1024

/** The distinct texts to put into the index for one message, in order of first appearance: all tokens of what
 *  `clip` leaves of each text, as far as 512 KiB of UTF-8. */
export function indexTokens(texts: readonly string[]): string[] {
  const distinct = new Set<string>()
  let bytes = 0
  for (const text of texts) {
    for (const token of tokenize(clip(text))) {
      if (distinct.has(token.text)) continue
      bytes += utf8Length(token.text)
      if (bytes > mostIndexedBytes) return [...distinct]
      distinct.add(token.text)
    }
  }
  return [...distinct]
}

function scan(text: string, purpose: 'text' | 'query'): Token[] {
  const tokens: Token[] = []
  const words = purpose === 'text'
  let position = 0
  let wordAt = 0 // index in tokens of the first part of the word at hand
  let pairAt = -1 // the position at which a spaceless letter pairs with the one before

  // The part at hand: which sort it is (BREAK: none is open), where it lies, and whether it is
  // its own folded form.
  let open: number = BREAK
  let start = 0
  let end = 0
  let plain = true

  function openPart(sort: number, at: number): void {
    open = sort
    start = at
    plain = true
  }

  function closePart(at: number): void {
    const part = plain ? cutToken(text.slice(start, at)) : foldRange(text, start, at)
    if (open === SPACELESS) {
      if (pairAt === position) {
        const before = tokens[tokens.length - 1]!
        tokens.push({
          text: cutToken(before.text + part),
          from: position - 1,
          to: position + 1,
          start: before.start,
          end: at,
        })
      }
      pairAt = position + 1
    }
    tokens.push({ text: part, from: position, to: position + 1, start, end: at })
    if (open !== LOWER) wordAt = tokens.length
    position++
    open = BREAK
  }

  function endWord(): void {
    if (words && tokens.length - wordAt > 1) joinParts(text, tokens, wordAt)
    wordAt = tokens.length
  }

  // Kinds of the last two letters of the part at hand, and where the last one starts: a part may
  // turn out to have ended one letter ago.
  let last: number = BREAK
  let lastButOne: number = BREAK
  let lastAt = 0

  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    let kind: number
    let next = at + 1
    if (code === ESCAPE && escapeEnd(text, at) > at) {
      kind = SILENT
      next = escapeEnd(text, at)
    } else if (code < 128) {
      kind = asciiKinds[code]!
    } else {
      const codePoint = text.codePointAt(at)!
      kind = letterKind(codePoint)
      if (codePoint > 0xffff) next++
    }

    if (kind === LOWER || kind === UPPER || kind === DIGIT) {
      if (open !== LOWER) {
        if (open !== BREAK) closePart(end)
        openPart(LOWER, at)
        last = BREAK
        lastButOne = BREAK
      } else if (words && kind === UPPER && last === LOWER) {
        closePart(at)
        openPart(LOWER, at)
      } else if (words && kind === LOWER && last === UPPER && startsCapitalised(text, at, lastButOne)) {
        closePart(lastAt)
        openPart(LOWER, lastAt)
        plain = false
      }
      if (kind === UPPER || code >= 128) plain = false
      lastButOne = last
      last = kind
      lastAt = at
      end = next
    } else if (kind === SILENT || (kind === FOLLOWER && open === SPACELESS)) {
      plain = false
      end = next
    } else {
      const glued = kind === GLUE && open === LOWER
      if (open !== BREAK) closePart(end)
      if (!glued) endWord()
      if (kind === SPACELESS || kind === EMOJI) {
        openPart(kind, at)
        plain = isOwnFold(code)
        end = next
      }
    }
    at = next
  }
  if (open !== BREAK) closePart(end)
  endWord()
  return tokens
}

/** Whether the capital before the small letter at `at` begins a word of its own: the S of HTTPServer and the D of
 *  base64Decode do, the I of APIs does not. */
function startsCapitalised(text: string, at: number, before: number): boolean {
  if (before !== UPPER && before !== DIGIT) return false
  return text[at] !== 's' || asciiKinds[text.charCodeAt(at + 1)] === LOWER
}

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
