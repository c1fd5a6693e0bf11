import { cut } from '../output/cut.ts'
import { modelName } from '../output/model-name.ts'
import { whole } from '../output/number.ts'
import type { Style } from '../output/style.ts'
import { type Column, table } from '../output/table.ts'
import { age } from '../output/time.ts'

/** A row of `skein ls`. */
export interface ListRow {
  /** As short as it can be. */
  readonly id: string
  /** What a bare `skein` would continue. */
  readonly isNext: boolean
  readonly isLive: boolean
  readonly title: string
  readonly lastWords: string
  readonly at: Date
  readonly messages: number
  readonly branches: number
  readonly model: string | null
}

/** The list for people, as wide as there is room: columns leave from the right as it gets narrow, and below 44 a
 *  conversation takes two lines. */
export function listLines(
  rows: readonly ListRow[],
  width: number,
  now: number,
  style: Style,
): readonly string[] {
  const { dot, dots } = style.symbols
  if (width < 44) return rows.flatMap(row => twoLines(row))
  const shown = fields.filter(({ from }) => width >= from)
  return table(
    rows.map(row => shown.map(({ cell }) => cell(row, now))),
    shown.map(({ column, paint }) => ({ ...column, ...(paint && { paint: style[paint] }) })),
    width,
    { dots, paintHeader: style.faint },
  )

  function twoLines(row: ListRow): readonly string[] {
    const facts = `${age(row.at, now)} ${dot} ${whole(row.messages)}`
    return [`${marks(row)}${style.id(row.id)}  ${facts}`, `  ${style.title(cut(row.title, width - 2, dots))}`]
  }
}

interface Field {
  /** The narrowest terminal it is seen on. */
  readonly from: number
  readonly column: Column
  readonly cell: (row: ListRow, now: number) => string
  readonly paint?: 'id' | 'title' | 'faint'
}

const fields: readonly Field[] = [
  { from: 0, column: {}, cell: marks },
  { from: 0, column: { header: 'ID', gap: '' }, cell: row => row.id, paint: 'id' },
  { from: 0, column: { header: 'TITLE', shrinksTo: 12 }, cell: row => row.title, paint: 'title' },
  {
    from: 100,
    column: { header: 'LAST WORDS', shrinksTo: 12, most: 40 },
    cell: row => row.lastWords,
    paint: 'faint',
  },
  { from: 0, column: { header: 'AGE', align: 'right', least: 6 }, cell: (row, now) => age(row.at, now) },
  { from: 50, column: { header: 'MSGS', align: 'right', least: 5 }, cell: row => whole(row.messages) },
  { from: 56, column: { header: 'BR', align: 'right' }, cell: row => whole(row.branches) },
  {
    from: 64,
    column: { header: 'MODEL', shrinksTo: 12 },
    cell: row => (row.model === null ? '' : modelName(row.model)),
  },
]

function marks({ isNext, isLive }: ListRow): string {
  return `${isNext ? '*' : ' '}${isLive ? '+' : ' '}`
}
