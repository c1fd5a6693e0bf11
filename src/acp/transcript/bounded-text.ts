/** A text of any length, of which the beginning and the end are kept. */
export interface BoundedText {
  append(text: string): void
  /** Replaces everything. */
  replace(text: string): void
  /** The text; a line in its middle says how many bytes are left out. */
  text(): string
}

/** Most characters to keep of the beginning, and as many of the end. */
export const mostKept = 64 * 1024

export function createBoundedText(most: number = mostKept): BoundedText {
  let head = ''
  let tail = ''
  let leftOut = 0

  /** Drops the beginning of the end. A surrogate pair is not split. */
  function cutTail(): void {
    let at = tail.length - most
    if (at <= 0) return
    if (isLowSurrogate(tail, at)) at++
    leftOut += Buffer.byteLength(tail.slice(0, at))
    tail = tail.slice(at)
  }

  function append(text: string): void {
    let room = tail === '' && leftOut === 0 ? Math.min(most - head.length, text.length) : 0
    if (room > 0 && room < text.length && isLowSurrogate(text, room)) room--
    if (room > 0) head += text.slice(0, room)
    if (room < text.length) tail += text.slice(room)
    // Not at every chunk: cutting copies the text.
    if (tail.length > 2 * most) cutTail()
  }

  return {
    append,
    replace(text) {
      head = ''
      tail = ''
      leftOut = 0
      append(text)
    },
    text() {
      cutTail()
      return leftOut === 0 ? head + tail : `${head}\n[… ${leftOut} bytes left out …]\n${tail}`
    },
  }
}

function isLowSurrogate(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff
}
