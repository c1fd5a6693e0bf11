/** Control characters, and other characters that break lines or change the writing direction: \p{Cc}, \p{Zl},
 *  \p{Zp}, \p{Bidi_Control} and U+FEFF. By number, because V8 resolves property escapes slowly. */
const driving =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g

/** A text that cannot control a terminal: control characters are shown, not sent. Line breaks and tabs stay.
 *  `sign` replaces the escape character; with `^[`, the others are ASCII too. */
export function harmless(text: string, sign = '␛'): string {
  if (text.search(driving) === -1) return text
  return text.replace(/\r\n/g, '\n').replace(driving, character => shown(character, sign))
}

function shown(character: string, sign: string): string {
  if (character === '\n' || character === '\t') return character
  const code = character.charCodeAt(0)
  if (code === 0x1b) return sign
  if (sign !== '^[' && code < 0x20) return String.fromCharCode(0x2400 + code)
  return code < 0x20 ? `^${String.fromCharCode(code + 64)}` : `\\u${code.toString(16).padStart(4, '0')}`
}
