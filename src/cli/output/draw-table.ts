import type { TableSide } from '../../render/tree.ts'
import { widthOf } from './cut.ts'
import { type DrawnPiece, type DrawnRow, plainPiece, rowWidth, wrapPieces } from './drawn-row.ts'
import type { Style } from './style.ts'

type Cell = readonly DrawnPiece[]

export interface TableCells {
  readonly head: readonly Cell[]
  readonly rows: readonly (readonly Cell[])[]
  readonly sides: readonly TableSide[]
}

/** A column is not made narrower than this, or than its contents. */
const narrowestColumn = 8

/** Draws a table that fits the width: wide columns are wrapped. If there are too many columns, each row
 *  becomes a list of its cells with their headings. */
export function drawTable(
  { head, rows, sides }: TableCells,
  { style, width }: { readonly style: Style; readonly width: number },
): readonly DrawnRow[] {
  const natural = head.map((cell, i) =>
    Math.max(1, rowWidth(cell), ...rows.map(row => rowWidth(row[i] ?? []))),
  )
  const widths = fitted(natural, width - 3 * (head.length - 1))
  if (widths === null) return rows.flatMap((row, i) => [...(i === 0 ? [] : [[]]), ...record(row)])
  const bar: DrawnPiece = { text: ` ${style.symbols.column} `, paint: style.faint }
  const { rule, cross } = style.symbols
  const line = widths.map(cells => rule.repeat(cells)).join(`${rule}${cross}${rule}`)
  return [...drawRow(head), [{ text: line, paint: style.faint }], ...rows.flatMap(drawRow)]

  function drawRow(cells: readonly Cell[]): readonly DrawnRow[] {
    const columns = widths!.map((room, i) => wrapPieces(cells[i] ?? [], { width: room, dividesWords: true }))
    const height = Math.max(1, ...columns.map(({ length }) => length))
    return Array.from({ length: height }, (_, n) =>
      columns.flatMap((column, i) => {
        const isLast = i === columns.length - 1
        const cell = aligned(column[n] ?? [], widths![i]!, sides[i] ?? 'left', isLast)
        return isLast ? cell : [...cell, bar]
      }),
    )
  }

  /** A row as lines: `heading: cell`. */
  function record(row: readonly Cell[]): readonly DrawnRow[] {
    return head.flatMap((heading, i) =>
      wrapPieces([...heading, plainPiece(': '), ...(row[i] ?? [])], { width, dividesWords: true }),
    )
  }
}

function aligned(row: DrawnRow, width: number, side: TableSide, isLast: boolean): DrawnRow {
  if (isLast && row.length === 0) return row
  const free = Math.max(0, width - rowWidth(row))
  const before = side === 'left' ? 0 : side === 'right' ? free : Math.floor(free / 2)
  // No spaces at the end of a line.
  const after = isLast ? 0 : free - before
  return [plainPiece(' '.repeat(before)), ...row, plainPiece(' '.repeat(after))].filter(
    ({ text }) => text !== '' && widthOf(text) > 0,
  )
}

/** Makes the widest columns narrower until all fit; null if they cannot. */
function fitted(natural: readonly number[], room: number): readonly number[] | null {
  const widths = [...natural]
  let over = widths.reduce((sum, width) => sum + width, 0) - room
  while (over > 0) {
    const widest = Math.max(...widths)
    if (widest <= narrowestColumn) return null
    const at = widths.lastIndexOf(widest)
    const next = Math.max(narrowestColumn, ...widths.filter((_, i) => i !== at).filter(one => one < widest))
    const taken = Math.min(over, Math.max(1, widest - next))
    widths[at] = widest - taken
    over -= taken
  }
  return widths
}
