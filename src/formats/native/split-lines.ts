import { longestLine } from './format.ts'

/** A line of a file, numbered from 1; or the reason why it cannot be read. */
export type Line =
  | { readonly number: number; readonly text: string }
  | { readonly number: number; readonly fault: string }

/** Splits bytes into lines as they arrive. */
export interface LineSplitter {
  push(chunk: Uint8Array): Line[]
  /** The rest after the last line break. */
  end(): Line[]
}

const newline = 0x0a

/** Buffers at most one line, and drops a line that is too long. Ignores a byte order mark, carriage returns
 *  and empty lines, which editors and mail programs add. */
export function lineSplitter(limit = longestLine): LineSplitter {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let held: Uint8Array[] = []
  let size = 0
  let number = 1

  return {
    push(chunk) {
      const lines: Line[] = []
      let from = 0
      for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
        hold(chunk.subarray(from, at))
        take(lines)
        from = at + 1
      }
      hold(chunk.subarray(from))
      return lines
    },
    end() {
      const lines: Line[] = []
      if (size > 0) take(lines)
      return lines
    },
  }

  function hold(bytes: Uint8Array): void {
    size += bytes.length
    if (size > limit) held = []
    else if (bytes.length > 0) held.push(bytes)
  }

  function take(lines: Line[]): void {
    const line = read()
    if (line !== null) lines.push(line)
    held = []
    size = 0
    number++
  }

  function read(): Line | null {
    if (size > limit) return { number, fault: `the line has ${size} bytes, ${limit} are allowed` }
    let text: string
    try {
      text = decoder.decode(held.length === 1 ? held[0] : Buffer.concat(held))
    } catch {
      return { number, fault: 'the line is not UTF-8' }
    }
    const trimmed = text.trim()
    return trimmed === '' ? null : { number, text: trimmed }
  }
}
