import { isDeeper } from './json-depth.ts'
import type { Line, RpcMessage } from './line.ts'

/** The longest line that is taken: beyond it the other side is out of its mind, or has no line ends. */
export const longestLine = 64 * 1024 * 1024

/** Deeper values are passed on unread: whoever walks through one would run out of stack, and reading them takes minutes. */
const deepest = 1_000

const lineEnd = 0x0a

/** A line does not end. */
export class LineTooLong extends Error {
  override readonly name = 'LineTooLong'

  constructor(maxBytes: number) {
    super(`it sent a line of more than ${maxBytes} bytes`)
  }
}

export interface LineSplitter {
  /** Throws LineTooLong, after the lines before that one; nothing is heard from then on. */
  push(chunk: Buffer): void
  /** Nothing more comes. What stands behind the last line end is a line only if it says something: otherwise whoever wrote
   *  it died over it. */
  end(): void
}

/** Splits bytes into lines, which may come in many pieces. A line is the bytes before its `\n`, whatever they are: what is
 *  passed on has to be what came. */
export function lineSplitter(
  onLine: (line: Line) => void,
  { maxBytes = longestLine }: { readonly maxBytes?: number } = {},
): LineSplitter {
  let begun: Buffer[] = []
  let length = 0
  let isOver = false

  function take(piece: Buffer): void {
    length += piece.length
    if (length > maxBytes) {
      isOver = true
      begun = []
      throw new LineTooLong(maxBytes)
    }
    begun.push(piece)
  }

  function whole(): Buffer {
    const bytes = begun.length === 1 ? begun[0]! : Buffer.concat(begun, length)
    begun = []
    length = 0
    return bytes
  }

  return {
    push(chunk) {
      let from = 0
      while (!isOver) {
        const to = chunk.indexOf(lineEnd, from)
        if (to < 0) break
        take(chunk.subarray(from, to))
        from = to + 1
        onLine(lineOf(whole()))
      }
      if (!isOver && from < chunk.length) take(chunk.subarray(from))
    },
    end() {
      if (isOver) return
      isOver = true
      const last = lineOf(whole())
      if (last.message !== null) onLine(last)
    },
  }
}

/** Looks at a line. */
export function lineOf(bytes: Buffer): Line {
  return { bytes, message: messageOf(bytes) }
}

function messageOf(bytes: Buffer): RpcMessage | null {
  if (!isObjectText(bytes) || (bytes.length > 2 * deepest && isDeeper(bytes, deepest))) return null
  try {
    return JSON.parse(bytes.toString('utf8')) as RpcMessage
  } catch {
    // Many agents greet, and some of them with a brace: such a line is no message.
    return null
  }
}

/** Whether it begins as an object does: only then is it worth reading. */
function isObjectText(bytes: Buffer): boolean {
  let at = 0
  while (bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0d) at++
  return bytes[at] === 0x7b
}
