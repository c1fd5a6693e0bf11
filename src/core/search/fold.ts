import { BREAK, EMOJI, letterOf } from './letters.ts'

/** A text as it is compared: its letters as tokens have them (lower case, no accents, one form of each), everything
 *  else as it is. One text stands in another "whatever the case" if its folded form stands in the other's. */
export function fold(text: string): string {
  if (/^[\0-\x7f]*$/.test(text)) return text.toLowerCase()
  let folded = ''
  for (const char of text.toWellFormed()) {
    const codePoint = char.codePointAt(0)!
    if (codePoint < 128) {
      folded += char.toLowerCase()
      continue
    }
    const letter = letterOf(codePoint)
    folded += letter.kind === BREAK || letter.kind === EMOJI ? char : letter.text
  }
  // Decomposed Hangul and kana come together as they do in tokens.
  return folded.normalize('NFC')
}
