/** The code of the control character that begins terminal escape sequences. */
export const ESCAPE = 0x1b

const escapeCharacter = String.fromCharCode(ESCAPE)

/** The end of the colour or cursor sequence that begins at `at`, or `at` if none begins there. Programs
 *  print such sequences within words: without this, a red "error" would be indexed as 31merror. */
export function escapeEnd(text: string, at: number): number {
  if (text[at + 1] !== '[') return at
  let end = at + 2
  while (isBetween(text.charCodeAt(end), 0x30, 0x3f)) end++
  return isBetween(text.charCodeAt(end), 0x40, 0x7e) ? end + 1 : at
}

export function hasEscapes(text: string): boolean {
  return text.includes(escapeCharacter)
}

/** The text as a terminal shows it. */
export function withoutEscapes(text: string): string {
  let shown = ''
  let from = 0
  for (let at = text.indexOf(escapeCharacter); at >= 0; at = text.indexOf(escapeCharacter, at + 1)) {
    const end = escapeEnd(text, at)
    if (end === at) continue
    shown += text.slice(from, at)
    from = end
  }
  return shown + text.slice(from)
}

function isBetween(code: number, low: number, high: number): boolean {
  return code >= low && code <= high
}
