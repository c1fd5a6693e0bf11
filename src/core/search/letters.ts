/** The meaning of a code point to the tokenizer. */
export type LetterKind =
  | typeof BREAK
  | typeof LOWER
  | typeof UPPER
  | typeof DIGIT
  | typeof GLUE
  | typeof SILENT
  | typeof SPACELESS
  | typeof FOLLOWER
  | typeof EMOJI

/** Ends a word: white space, punctuation, control characters, lone surrogates. */
export const BREAK = 0
/** A lower-case letter, or one of a script without case. */
export const LOWER = 1
export const UPPER = 2
export const DIGIT = 3
/** `_` or `-`: ends a part, but a single one between two parts keeps the word together. */
export const GLUE = 4
/** Neither visible nor a boundary: accents, joiners, direction marks, variation selectors, skin tones,
 *  tatweel. */
export const SILENT = 5
/** A letter of a script without spaces between words. Each one is a part. */
export const SPACELESS = 6
/** Completes the preceding spaceless letter: vowels and finals of decomposed Hangul, voicing marks of kana,
 *  vowel and tone signs of Thai. */
export const FOLLOWER = 7
export const EMOJI = 8

/** A code point as the tokenizer sees it. `text` is its folded form, empty if it is not visible. */
export interface Letter {
  readonly kind: LetterKind
  readonly text: string
}

/** The kinds of the 128 ASCII code points. A table, because nearly all text is ASCII. */
export const asciiKinds: Uint8Array = /* @__PURE__ */ asciiTable()

/** Classifies and folds one code point from 128 up: lower case, without accents, compatibility forms unified.
 *  The same text gives the same letters however it was composed (NFC, NFD, NFKC, NFKD). */
export function letterOf(codePoint: number): Letter {
  const known = letters.get(codePoint)
  if (known !== undefined) return known
  const letter = commonLetter(codePoint) ?? classify(codePoint)
  // A bounded cache: Chinese text alone could fill one for all of Unicode.
  if (letters.size >= 8_192) letters.clear()
  letters.set(codePoint, letter)
  return letter
}

/** The kind alone. Most Han and Hangul need no lookup. */
export function letterKind(codePoint: number): LetterKind {
  return isOwnFold(codePoint) ? SPACELESS : letterOf(codePoint).kind
}

/** Whether this is an ideograph or a Hangul syllable that equals its folded form, as nearly all do. */
export function isOwnFold(codePoint: number): boolean {
  return (codePoint >= 0x4e00 && codePoint <= 0x9fff) || (codePoint >= 0xac00 && codePoint <= 0xd7a3)
}

const letters = new Map<number, Letter>()

/** The letters of Latin-1, and dashes, quotes and the ellipsis, which ends a cut title. They need no
 *  patterns: compiling those takes 2 to 4 ms, and most prompts have no other characters. Null for any other
 *  code point. */
function commonLetter(codePoint: number): Letter | null {
  if (codePoint >= 0x2010 && codePoint <= 0x2027) return { kind: BREAK, text: '' }
  if (codePoint < 0xc0 || codePoint > 0xff) return null
  if (codePoint === 0xd7 || codePoint === 0xf7) return { kind: BREAK, text: '' }
  if (codePoint === 0xdf) return { kind: LOWER, text: 'ss' }
  const base = String.fromCharCode(codePoint).normalize('NFD').charAt(0).toLowerCase()
  return { kind: codePoint < 0xdf ? UPPER : LOWER, text: base }
}

/** Unicode properties as patterns. Created lazily for the first non-ASCII character, and from texts: V8 looks
 *  up the properties of a literal when it reads the file, which takes longer than a short command. */
function makePatterns() {
  return {
    seen: unicode(String.raw`[\p{L}\p{N}\p{M}]`),
    // In these scripts a mark is an accent, a reading aid or a stress sign, which people omit when they
    // search. In most others (Devanagari, Tamil, Thaana ...) marks are vowels and count as letters.
    accent: unicode(
      String.raw`(?=\p{M})[\p{sc=Zinh}\p{sc=Zyyy}\p{sc=Latn}\p{sc=Grek}\p{sc=Cyrl}\p{sc=Arab}\p{sc=Hebr}\p{sc=Syrc}]`,
    ),
    // Without the zero width space, which is a boundary, and the byte order mark, which counts as white
    // space.
    ignorable: unicode(String.raw`(?![\u200b\ufeff])[\p{Cf}\p{Emoji_Modifier}]`),
    // Hiragana and katakana share their prolonged sound and repetition marks, hence the extensions (scx).
    spaceless: unicode(
      String.raw`[\p{sc=Hani}\p{scx=Hira}\p{scx=Kana}\p{sc=Hang}\p{sc=Bopo}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]`,
    ),
    // Without the arrows, the copyright sign and the circled M, which readers take for punctuation.
    emoji: unicode(
      String.raw`(?=[\u2300-\u23ff\u2500-\u{10ffff}])[\p{Extended_Pictographic}\p{Regional_Indicator}]`,
    ),
    upper: unicode(String.raw`[\p{Lu}\p{Lt}]`),
    mark: unicode(String.raw`\p{M}`),
    digit: unicode(String.raw`\p{N}`),
  }
}

function unicode(pattern: string): RegExp {
  return new RegExp(pattern, 'u')
}

let patterns: ReturnType<typeof makePatterns> | undefined

const follower = /[\u1160-\u11ff\ud7b0-\ud7ff\u3099\u309a\uff9e\uff9f]/
const tatweel = '\u0640'

function classify(codePoint: number): Letter {
  patterns ??= makePatterns()
  const { seen, accent, ignorable, spaceless, emoji, upper, mark, digit } = patterns
  const char = String.fromCodePoint(codePoint)
  if (follower.test(char)) return { kind: FOLLOWER, text: char.normalize('NFKD') }
  if (accent.test(char) || ignorable.test(char)) return { kind: SILENT, text: '' }
  if (seen.test(char)) {
    const text = fold(char, patterns)
    if (text === '') return { kind: SILENT, text }
    if (spaceless.test(char)) return { kind: mark.test(char) ? FOLLOWER : SPACELESS, text }
    return { kind: upper.test(char) ? UPPER : digit.test(char) ? DIGIT : LOWER, text }
  }
  return emoji.test(char) ? { kind: EMOJI, text: char } : { kind: BREAK, text: '' }
}

/** Sharp s becomes ss and dotless i becomes i, because their capitals are SS and I. Final sigma becomes
 *  sigma. */
function fold(char: string, { seen, accent }: ReturnType<typeof makePatterns>): string {
  let text = ''
  for (const piece of char.normalize('NFKD').toLowerCase().normalize('NFKD')) {
    if (piece === tatweel) continue
    else if (piece === '\u00df') text += 'ss'
    else if (piece === '\u0131') text += 'i'
    else if (piece === '\u03c2') text += '\u03c3'
    else if (follower.test(piece)) text += piece
    else if (seen.test(piece) && !accent.test(piece)) text += piece
  }
  return text.normalize('NFC')
}

function asciiTable(): Uint8Array {
  const kinds = new Uint8Array(128).fill(BREAK)
  // Without patterns: this runs at every start, and compiling them would take longer than everything else.
  kinds.fill(LOWER, 0x61, 0x7b)
  kinds.fill(UPPER, 0x41, 0x5b)
  kinds.fill(DIGIT, 0x30, 0x3a)
  kinds[0x5f] = GLUE
  kinds[0x2d] = GLUE
  return kinds
}
