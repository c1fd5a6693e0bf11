import { fittingStart, widthOf } from './cut.ts'
import type { Output } from './output.ts'

/** The maximum width for prose. */
export const proseWidth = 100

/** Wraps a text between words, or inside a word that is longer than a line. Keeps line breaks, and the
 *  indentation of wrapped lines. The text has no colours. */
export function wrap(text: string, width: number): readonly string[] {
  return text.split('\n').flatMap(line => wrapLine(line.replaceAll('\t', '    '), Math.max(1, width)))
}

/** A line of stderr: on a terminal wrapped between words at its width, elsewhere unchanged. Rows after the
 *  first are indented. The line may have colours. */
export function wrapForTerminal(
  line: string,
  { isTerminal, width }: Pick<Output, 'isTerminal' | 'width'>,
): string {
  if (!isTerminal || (line.length <= width && !line.includes('\n'))) return line
  return line
    .split('\n')
    .flatMap(one => wrapLine(one, Math.max(1, width), '  '))
    .join('\n')
}

/** `hanging` is the indentation of the rows after the first. Default: that of the line. */
function wrapLine(line: string, width: number, hanging?: string): readonly string[] {
  if (line.length <= width && widthOf(line) <= width) return [line]
  const indent = /^ */.exec(line)![0]
  const ofRows = hanging === undefined || hanging.length < indent.length ? indent : hanging
  const margin = ofRows.length < width / 2 ? ofRows : ''
  const lines: string[] = []
  let current = indent.length < width / 2 ? indent : ''
  let used = current.length
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
    // A piece with colours is not split: the cut could be inside an escape sequence.
    while (widthOf(rest) > width - margin.length && !rest.includes('\x1b')) {
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
