import { InvalidError } from '../../core/errors.ts'

/** A position in a list, as an opaque text that callers pass back. */
export function writeCursor(place: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

/** Throws InvalidError if the text is not a cursor of this shape. */
export function readCursor(text: string, shape: readonly ('string' | 'number')[]): (string | number)[] {
  let place: unknown
  try {
    place = JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    place = null
  }
  const fits =
    Array.isArray(place) &&
    place.length === shape.length &&
    place.every((value, i) => typeof value === shape[i])
  if (!fits) throw new InvalidError('after', 'is no cursor of this list: give back what `next` held')
  return place as (string | number)[]
}
