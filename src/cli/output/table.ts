import { cut, cutLineMiddle, padEnd, padStart, widthOf } from './cut.ts'

/** A column of a table. */
export interface TableColumn {
  readonly header?: string
  readonly align?: 'left' | 'right'
  /** Shrinks to this width if the line is too wide. Columns without it are never cut. */
  readonly shrinksTo?: number
  /** Left out if the columns do not fit at their least widths. */
  readonly drops?: true
  /** Cuts the middle of a cell, such as a path, instead of its end. */
  readonly cutsMiddle?: true
  /** The maximum width. */
  readonly most?: number
  /** The minimum width. */
  readonly least?: number
  /** Takes the remaining width. */
  readonly grows?: true
  /** Applied after cutting and padding. */
  readonly paint?: (text: string) => string
  /** The text before this column. Default: two spaces. */
  readonly gap?: string
}

export interface TableOptions {
  readonly dots?: string
  readonly paintHeader?: (text: string) => string
}

/** The lines of a table that fits the width: a header if a column has one, then one line per row. Cells have
 *  no colours and no line breaks. */
export function tableLines(
  rows: readonly (readonly string[])[],
  columns: readonly TableColumn[],
  width: number,
  { dots = '…', paintHeader = text => text }: TableOptions = {},
): readonly string[] {
  const widths = columnWidths(rows, columns, width)
  const dropped = columns.findLastIndex(({ drops }) => drops)
  if (dropped !== -1 && tableWidth(widths, columns) > width) {
    const without = <T>(cells: readonly T[]) => cells.toSpliced(dropped, 1)
    return tableLines(rows.map(without), without(columns), width, { dots, paintHeader })
  }
  const line = (cells: readonly string[], isHeader: boolean) =>
    columns
      .map((column, i) => {
        const cell = (column.cutsMiddle ? cutLineMiddle : cut)(cells[i] ?? '', widths[i]!, dots)
        const isLast = i === columns.length - 1
        const filled =
          column.align === 'right' ? padStart(cell, widths[i]!) : isLast ? cell : padEnd(cell, widths[i]!)
        const gap = i === 0 ? '' : (column.gap ?? '  ')
        return gap + (isHeader || !column.paint ? filled : column.paint(filled))
      })
      .join('')
      .trimEnd()
  const header = columns.some(column => column.header)
    ? [
        paintHeader(
          line(
            columns.map(({ header = '' }) => header),
            true,
          ),
        ),
      ]
    : []
  return [...header, ...rows.map(cells => line(cells, false))]
}

function columnWidths(
  rows: readonly (readonly string[])[],
  columns: readonly TableColumn[],
  width: number,
): readonly number[] {
  const widths = columns.map((column, i) => {
    const widest = rows.reduce(
      (most, cells) => Math.max(most, widthOf(cells[i] ?? '')),
      widthOf(column.header ?? ''),
    )
    return Math.max(column.least ?? 0, Math.min(widest, column.most ?? Number.POSITIVE_INFINITY))
  })
  let over = tableWidth(widths, columns) - width
  // The widest column shrinks first, so that two columns of prose get about the same width.
  while (over > 0) {
    const [widest, next] = columns
      .map((column, i) => ({ i, cells: widths[i]!, least: column.shrinksTo ?? Number.POSITIVE_INFINITY }))
      .filter(({ cells, least }) => cells > least)
      .sort((a, b) => b.cells - a.cells)
    if (!widest) break
    const step = Math.min(
      over,
      widest.cells - Math.max(widest.least, (next?.cells ?? 0) - 1),
      widest.cells - widest.least,
    )
    widths[widest.i] = widest.cells - Math.max(1, step)
    over -= Math.max(1, step)
  }
  const growing = columns.findIndex(({ grows }) => grows)
  if (growing !== -1 && over < 0) widths[growing] = widths[growing]! - over
  return widths
}

function tableWidth(widths: readonly number[], columns: readonly TableColumn[]): number {
  const gaps = columns.reduce((sum, column, i) => sum + (i === 0 ? 0 : (column.gap ?? '  ').length), 0)
  return widths.reduce((sum, cells) => sum + cells, gaps)
}
