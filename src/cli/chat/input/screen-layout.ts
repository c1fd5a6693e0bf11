import { widthOf } from '../../output/cut.ts'
import type { Style } from '../../output/style.ts'
import type { InputLine } from './input-line.ts'

/** Rows for a terminal, and the position of the cursor among them. */
export interface ScreenLayout {
  readonly rows: readonly string[]
  readonly cursor: { readonly row: number; readonly column: number }
}

/** Wraps the input into rows, in bold: it is what the person says. No row touches the last column, where
 *  terminals behave differently. */
export function layOutLine(line: InputLine, width: number, style: Style): ScreenLayout {
  const prompt = `${style.symbols.prompt} `
  const room = Math.max(4, width - 1)
  const rows: string[] = [style.title(prompt)]
  let column = prompt.length
  let cursor = { row: 0, column }
  const next = () => {
    rows.push('  ')
    column = 2
  }
  for (const [i, cell] of line.cells.entries()) {
    if (i === line.at) cursor = { row: rows.length - 1, column }
    if (cell.value === '\n') {
      next()
      continue
    }
    const isPaste = cell.shown !== cell.value
    const shown = visible(cell.shown, style)
    const cells = widthOf(shown)
    if (column + cells > room && column > 2) {
      next()
      if (i === line.at) cursor = { row: rows.length - 1, column }
    }
    rows[rows.length - 1] += isPaste ? style.faint(shown) : style.title(shown)
    column += cells
  }
  if (line.at === line.cells.length) cursor = { row: rows.length - 1, column }
  return { rows, cursor }
}

/** The rows around the cursor, if there are more than the terminal has. */
export function clipLayout({ rows, cursor }: ScreenLayout, most: number): ScreenLayout {
  if (rows.length <= most) return { rows, cursor }
  const from = Math.min(Math.max(0, cursor.row - most + 1), rows.length - most)
  return { rows: rows.slice(from, from + most), cursor: { ...cursor, row: cursor.row - from } }
}

function visible(text: string, style: Style): string {
  return text === '\t' ? '    ' : style.safe(text)
}
