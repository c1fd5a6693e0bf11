import type { Style } from '../terminal/style.ts'

/** Text that arrives in pieces, made harmless (R17). */
export interface SafeStream {
  /** What can be shown of it now. */
  push(piece: string): string
  /** What was held back at the end. */
  end(): string
}

/** Control characters are shown one by one, so it does not matter where an escape is torn apart. What does: a line
 *  break of two characters, and a character of two halves. The first half waits for the second. */
export function safeStream(style: Pick<Style, 'safe'>): SafeStream {
  let held = ''
  return {
    push(piece) {
      const text = held + piece
      const cutAt = /[\r\ud800-\udbff]$/.test(text) ? text.length - 1 : text.length
      held = text.slice(cutAt)
      return style.safe(text.slice(0, cutAt))
    },
    end() {
      const rest = held
      held = ''
      return style.safe(rest.toWellFormed())
    },
  }
}
