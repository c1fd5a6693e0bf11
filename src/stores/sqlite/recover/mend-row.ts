import type { StoreRecord } from '../../../core/record.ts'
import { checkRecord } from '../../check/record.ts'
import { attempt } from './readable-rows.ts'

/** What replaces a column that cannot be read, and what a report calls the column. */
export type Substitutes<Row> = {
  readonly [Column in keyof Row]?: readonly [value: Row[Column], name: string]
}

/** The row with substitutes for the columns that keep its record from being stored, so that one of them does
 *  not cost the others. Null if a column without a substitute is wrong too. */
export function mendRow<Row extends object>(
  row: Row,
  substitutes: Substitutes<Row>,
  toRecord: (row: Row) => StoreRecord,
  lose: (name: string) => void,
): Row | null {
  if (isStorable(row)) return row
  const columns = Object.entries(substitutes) as [keyof Row, readonly [value: unknown, name: string]][]
  let mended: Row = { ...row, ...Object.fromEntries(columns.map(([column, [value]]) => [column, value])) }
  if (!isStorable(mended)) return null
  for (const [column, [, name]] of columns) {
    const tried = { ...mended, [column]: row[column] }
    if (isStorable(tried)) mended = tried
    else lose(name)
  }
  return mended

  function isStorable(tried: Row): boolean {
    return attempt(() => checkRecord(toRecord(tried))) !== undefined
  }
}
