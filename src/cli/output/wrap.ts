import { fittingStart, widthOf } from './cut.ts'

/** The maximum width for prose. */
export const proseWidth = 100

/** Wraps a text between words, or inside a word that is longer than a line. Keeps line breaks, and the
 *  indentation of wrapped lines. The text has no colours. */
export function wrap(text: string, width: number): readonly string[] {
  return text.split('\n').flatMap(line => wrapLine(line.replaceAll('\t', '    '), Math.max(1, width)))
}

function wrapLine(line: string, width: number): readonly string[] {
  if (line.length <= width && widthOf(line) <= width) return [line]
  const indent = /^ */.exec(line)![0]
  const margin = indent.length < width / 2 ? indent : ''
  const lines: string[] = []
  let current = margin
  let used = margin.length
  const flush = () => {
    lines.push(current.trimEnd())
    current = margin
    used = margin.length
  }
  for (const piece of line.slice(indent.length).split(/( +)/)) {
    const cells = widthOf(piece)
    if (used + cells <= width) {
      current += piece
      used += cells
      continue
    }
    if (used > margin.length) flush()
    if (piece.startsWith(' ')) continue
    let rest = piece
    while (widthOf(rest) > width - margin.length) {
      // A character that is wider than the line gets its own line; otherwise the loop would not end.
      const part = fittingStart(rest, width - margin.length) || [...rest][0]!
      lines.push(margin + part)
      rest = rest.slice(part.length)
    }
    current = margin + rest
    used = margin.length + widthOf(rest)
  }
  if (used > margin.length || lines.length === 0) lines.push(current.trimEnd())
  return lines
}
