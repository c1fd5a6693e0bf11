/** A value of metadata as people type it: true, false and numbers, anything else as text. `"3"` in quotes is
 *  text. */
export function metadataValue(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  if (/^-?(0|[1-9]\d*)(\.\d+)?$/.test(text)) return Number(text)
  const [, quoted] = /^"(.*)"$/s.exec(text) ?? []
  return quoted ?? text
}
