const names: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes text for HTML content and attributes. Control characters become control pictures, and
 *  bidirectional controls their code. */
export function escapeHtml(text: string): string {
  return text
    .replace(/[&<>"']/g, character => names[character]!)
    .replace(/[^\P{Cc}\n\t]/gu, control)
    .replace(/[\u202a-\u202e\u2066-\u2069]/g, turn => `\\u${turn.charCodeAt(0).toString(16)}`)
    .toWellFormed()
}

function control(character: string): string {
  const code = character.charCodeAt(0)
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : '\ufffd'
}
