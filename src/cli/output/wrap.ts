import { fittingStart, widthOf } from './cut.ts'

/** Prose is read best when it is no wider than this. */
export const proseWidth = 100

/** Breaks a text into lines that fit: between words where it can, inside one that is longer than a line where it must.
 *  Its own line breaks stay, and a line that goes on keeps the indentation of its beginning. The text holds no colours. */
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
      // A character that is wider than the line stands alone, or nothing would ever get shorter.
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
