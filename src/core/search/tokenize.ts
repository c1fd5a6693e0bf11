import { finishAtOnce, type Stepwise } from '../large/stepwise.ts'
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
import { addPairs } from './pairs.ts'

/** A searchable text and its position. */
export interface Token {
  /** The word, without case and accents. */
  readonly text: string
  /** Part positions [from, to): parts are numbered through the text, and a token covers one or more of
   *  them. */
  readonly from: number
  /** The position after its last part. */
  readonly to: number
  /** UTF-16 offsets [start, end) in the source text. */
  readonly start: number
  /** The offset after its last unit. */
  readonly end: number
}

/** All tokens of a text, ordered by `from`, then by `to`. Accepts any string, in linear time.
 *
 *  A *part* is a run of letters and digits, folded (see `letterOf`), and ends where the case changes:
 *  `fooBar` is foo bar, `HTTPServer` http server, `APIs` apis. Digits belong to the letters before them and
 *  end a part only before a capitalised word: `parseJSON5` is parse json5, `base64Decode` base64 decode,
 *  `9F86D081` one part.
 *
 *  A *word* consists of parts written together or joined by one `_` or `-`. The whole word is a token as
 *  well (see `joinParts`): `foobar` finds fooBar, foo_bar and foo-bar. Every other character ends a word,
 *  including `.` and `/`.
 *
 *  Each emoji is a part, and so is each letter of a script without spaces (Han, kana, Hangul, Thai ...).
 *  Two adjacent letters of such a script are also a token, even with a line end or punctuation between
 *  them. */
export function tokenize(text: string): Token[] {
  return scan(text, 'text')
}

/** The tokens of a query: parts, and pairs of spaceless letters. Case does not split and nothing is joined,
 *  so `WebSocket` finds everything that `websocket` finds. */
export function tokenizeQuery(text: string): Token[] {
  return scan(text, 'query')
}

/** PostgreSQL refuses a tsvector of 1 MB. This much token text is safely below it. */
const mostIndexedBytes = 512 * 1024

/** A longer text is indexed in steps, of up to 10 ms each when V8 has compiled the code. */
const longText = 65_536

/** The words of a message that the index stores. */
export interface IndexedWords {
  /** The distinct tokens, in order of first appearance. */
  readonly tokens: string[]
  /** The numbers of their pairs (`addPairs`). */
  readonly pairs: ReadonlySet<number>
}

/** What to index for a message. Tokens are those of the searched beginning (`clip`) of each text, up to 512
 *  KiB of UTF-8; the names of all pairs, which SQLite stores, have 160 KiB. */
export function indexTokens(texts: readonly string[]): IndexedWords {
  return finishAtOnce(indexTokensInSteps(texts))
}

/** Pauses within and after each long text. */
export function* indexTokensInSteps(texts: readonly string[]): Stepwise<IndexedWords> {
  const distinct = new Set<string>()
  const pairs = new Set<number>()
  let bytes = 0
  for (const text of texts) {
    const isLong = text.length > longText
    const tokens = tokenize(clip(text))
    if (isLong) yield
    addPairs(tokens, pairs)
    if (isLong) yield
    for (const token of tokens) {
      if (bytes > mostIndexedBytes) break
      if (distinct.has(token.text)) continue
      bytes += utf8Length(token.text)
      if (bytes <= mostIndexedBytes) distinct.add(token.text)
    }
    if (isLong) yield
  }
  return { tokens: [...distinct], pairs }
}

function scan(text: string, purpose: 'text' | 'query'): Token[] {
  const tokens: Token[] = []
  const words = purpose === 'text'
  let position = 0
  let wordAt = 0 // index in tokens of the current word's first part
  let pairAt = -1 // the position at which a spaceless letter pairs with the previous one

  // The current part: its kind (BREAK: no part is open), its range, and whether it equals its folded form.
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

  // Kinds of the last two letters of the current part, and the start of the last one: a part may turn out
  // to have ended one letter ago.
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

/** Whether the capital before the small letter at `at` begins a new word: the S of HTTPServer and the D of
 *  base64Decode do, the I of APIs does not. */
function startsCapitalised(text: string, at: number, before: number): boolean {
  if (before !== UPPER && before !== DIGIT) return false
  return text[at] !== 's' || asciiKinds[text.charCodeAt(at + 1)] === LOWER
}

/** The length of the longest token, in UTF-16 units. */
const longest = 64
/** A word with more parts is a random id or encoded bytes, and a part of it is never searched for. */
const mostParts = 8

/** Cuts a token to its first 64 UTF-16 units, both in the index and in queries, never within a
 *  character. */
export function cutToken(text: string): string {
  if (text.length <= longest) return text
  const lastUnit = text.charCodeAt(longest - 1)
  return text.slice(0, lastUnit >= 0xd800 && lastUnit <= 0xdbff ? longest - 1 : longest)
}

/** The token for the letters from `start` to `end`: folded, and without the joiners between them. */
function foldRange(text: string, start: number, end: number): string {
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
  // Each letter is composed by itself. Two letters may compose with each other.
  return cutToken(beyondAscii > 1 ? folded.normalize('NFC') : folded)
}

/** Adds the tokens that the parts of a word form together. The parts are in `tokens` from `first` on. Added
 *  are: parts written together, because a query has them as one part; the whole word; and each two and
 *  three neighbours without digits, so that `fooBar` finds getFooBar. Bare numbers are not joined, so that
 *  12 does not find 1-2. */
function joinParts(text: string, tokens: Token[], first: number): void {
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
