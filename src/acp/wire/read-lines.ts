import { findSpans } from './json-spans.ts'
import type { RpcMessage, WireLine } from './wire-line.ts'

/** Longer input is malformed, or has no line ends. */
export const maxLineBytes = 64 * 1024 * 1024

/** Deeper values are relayed without being parsed: walking through one would overflow the stack, and parsing
 *  takes minutes. */
const deepest = 1_000

const lineEnd = 0x0a

/** A line exceeds the limit. */
export class LineTooLong extends Error {
  override readonly name = 'LineTooLong'

  constructor(maxBytes: number) {
    super(`it sent a line of more than ${maxBytes} bytes`)
  }
}

export interface WireLineSplitter {
  /** Throws LineTooLong, after the lines before that one. No line follows. */
  push(chunk: Buffer): void
  /** The input has ended. Bytes after the last line end are a line only if they are a message; otherwise the
   *  writer died in the middle of one. */
  end(): void
}

/** Splits bytes into lines. A line may arrive in many chunks. It consists of the bytes before its `\n`,
 *  unchanged, because they are relayed. */
export function createLineSplitter(
  onLine: (line: WireLine) => void,
  { maxBytes = maxLineBytes }: { readonly maxBytes?: number } = {},
): WireLineSplitter {
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
        onLine(parseLine(whole()))
      }
      if (!isOver && from < chunk.length) take(chunk.subarray(from))
    },
    end() {
      if (isOver) return
      isOver = true
      const last = parseLine(whole())
      if (last.message !== null) onLine(last)
    },
  }
}

/** Parses a line. */
export function parseLine(bytes: Buffer): WireLine {
  return { bytes, message: messageOf(bytes) }
}

function messageOf(bytes: Buffer): RpcMessage | null {
  if (!isObjectText(bytes) || (bytes.length > 2 * deepest && isDeeper(bytes, deepest))) return null
  try {
    return withExactId(JSON.parse(bytes.toString('utf8')) as RpcMessage, bytes)
  } catch {
    // Many agents print a greeting, some with a brace. Such a line is not a message.
    return null
  }
}

/** A large number would not survive parsing: it is printed as it was written. */
function withExactId(message: RpcMessage, bytes: Buffer): RpcMessage {
  if (typeof message.id !== 'number' || Number.isSafeInteger(message.id)) return message
  const span = findSpans(bytes, ['id']).at(-1)
  return span ? { ...message, id: rawJson(bytes.toString('utf8', span.from, span.to)) } : message
}

/** A value that `JSON.stringify` prints as this text. The type is that of the value. */
function rawJson(text: string): number {
  return (JSON as unknown as { rawJSON(text: string): number }).rawJSON(text)
}

/** Whether the text begins like an object. Only then is it parsed. */
function isObjectText(bytes: Buffer): boolean {
  let at = 0
  while (bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0d) at++
  return bytes[at] === 0x7b
}

/** Whether a text that is assumed to be JSON is nested more than `limit` levels deep. Skips over strings:
 *  long lines are mostly images. */
function isDeeper(json: Buffer, limit: number): boolean {
  let depth = 0
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]!
    if (byte === 0x22) {
      at = closingQuote(json, at)
      if (at < 0) return false
    } else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > limit) return true
    } else if (byte === 0x7d || byte === 0x5d) depth--
  }
  return false
}

function closingQuote(json: Buffer, from: number): number {
  let at = json.indexOf(0x22, from + 1)
  while (at >= 0 && isEscaped(json, at)) at = json.indexOf(0x22, at + 1)
  return at
}

/** An odd number of backslashes before the quote escapes it. */
function isEscaped(json: Buffer, quote: number): boolean {
  let at = quote
  while (json[at - 1] === 0x5c) at--
  return (quote - at) % 2 === 1
}
