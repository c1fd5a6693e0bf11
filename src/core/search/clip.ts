/** The bytes of a text that are searched. */
export const mostSearchedBytes = 256 * 1024

/** The searched beginning of a text: at most 256 KiB of UTF-8, cut between characters. The index, matching
 *  and ranking all use it, so that they see the same words. */
export function clip(text: string): string {
  // No UTF-16 unit takes more than three bytes.
  if (text.length * 3 <= mostSearchedBytes) return text
  let bytes = 0
  for (let at = 0; at < text.length; ) {
    const size = text.codePointAt(at)! > 0xffff ? 2 : 1
    bytes += utf8Size(text.codePointAt(at)!)
    if (bytes > mostSearchedBytes) return text.slice(0, at)
    at += size
  }
  return text
}

/** The length of a text in UTF-8. */
export function utf8Length(text: string): number {
  let bytes = 0
  for (const char of text) bytes += utf8Size(char.codePointAt(0)!)
  return bytes
}

function utf8Size(codePoint: number): number {
  return codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4
}
