import { BREAK, EMOJI, letterOf } from './letters.ts'

/** A text in the form in which it is compared: letters as in tokens (lower case, no accents, one form of
 *  each), everything else unchanged. A text contains another one, ignoring case, if their folded forms
 *  do. */
export function fold(text: string): string {
  // The ellipsis ends most titles, and is its own folded form.
  if (/^[\0-\x7f…]*$/.test(text)) return text.toLowerCase()
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
  // Composes decomposed Hangul and kana as in tokens.
  return folded.normalize('NFC')
}
