import { InvalidError } from '../../core/errors.ts'
import type { Page, PageOptions } from '../../core/listing.ts'

/** A position in a list, as an opaque text that callers pass back. */
export function writeCursor(place: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

/** What a part of a cursor may be. A `seq` is a number that fits every engine's integer column. */
export type CursorPart = 'string' | 'number' | 'seq'

/** Throws InvalidError if the text is not a cursor of this shape. */
export function readCursor(text: string, shape: readonly CursorPart[]): (string | number)[] {
  let place: unknown
  try {
    place = JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    place = null
  }
  const fits =
    Array.isArray(place) &&
    place.length === shape.length &&
    place.every((value, i) => isPart(value, shape[i]!))
  if (!fits) throw new InvalidError('after', 'is not a cursor of this list: pass the value of `next`')
  return place as (string | number)[]
}

function isPart(value: unknown, part: CursorPart): boolean {
  if (part === 'string') return typeof value === 'string' && value.isWellFormed() && !value.includes('\0')
  if (!Number.isSafeInteger(value)) return false
  return part === 'number' || ((value as number) >= -1 && (value as number) <= aboveAll)
}

/** Items of a page where the caller names no limit. */
export const defaultLimit = 100

/** Above every seq and every number of an event. */
export const aboveAll = 2 ** 31 - 1

/** The page that `rows` hold. They were read with one more than the limit, which shows whether a page
 *  follows. */
export function pageOf<Row, T>(
  rows: readonly Row[],
  { limit = defaultLimit }: PageOptions,
  toValue: (row: Row) => T,
  positionOf: (row: Row) => readonly (string | number)[],
): Page<T> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const next = rows.length > limit && last !== undefined ? writeCursor(positionOf(last)) : null
  return { items: shown.map(toValue), next, skipped: [] }
}

/** The one number of a cursor, or `otherwise` on the first page. */
export function numberAfter({ after }: PageOptions, otherwise: number): number {
  return after === undefined ? otherwise : (readCursor(after, ['seq'])[0] as number)
}
