import { InvalidError } from './errors.ts'
import { typeName } from './json.ts'

/** The last millisecond of the year 9999: the latest time with a four-digit year. */
export const latestTime = 253_402_300_799_999

/** Accepts keys, names and labels: 1 to 512 bytes of well-formed text without NUL. */
export function checkName(text: unknown, field: string): string {
  const name = checkText(text, field, 512)
  if (name === '') throw new InvalidError(field, 'must not be empty')
  return name
}

/** Accepts well-formed text without NUL, so that both engines store the same bytes. */
export function checkText(text: unknown, field: string, maxBytes: number): string {
  if (typeof text !== 'string') throw new InvalidError(field, `must be text, got ${typeName(text)}`)
  // UTF-8 needs at most 3 bytes for a UTF-16 unit, so short text need not be measured.
  if (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes) {
    throw new InvalidError(field, `must be at most ${maxBytes} bytes`)
  }
  if (text.includes('\0')) throw new InvalidError(field, 'must not contain NUL')
  if (!text.isWellFormed())
    throw new InvalidError(field, 'must be well-formed text (it has a lone surrogate)')
  return text
}

/** Accepts a date from 1970 to 9999 and returns it in milliseconds. */
export function checkTime(date: unknown, field: string): number {
  const time = date instanceof Date ? date.getTime() : Number.NaN
  if (!Number.isInteger(time) || time < 0 || time > latestTime) {
    throw new InvalidError(field, 'must be a date between 1970 and 9999')
  }
  return time
}

/** Accepts a whole number within bounds. */
export function checkCount(value: unknown, field: string, least: number, most: number): number {
  if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) {
    throw new InvalidError(field, `must be a whole number from ${least} to ${most}`)
  }
  return value as number
}

/** Accepts one of the listed words. */
export function checkChoice<T extends string>(value: unknown, field: string, choices: readonly T[]): T {
  if (!choices.includes(value as T)) throw new InvalidError(field, `must be one of ${choices.join(', ')}`)
  return value as T
}

/** Accepts an object that is not a list. `what` says what it should be, for callers without types. */
export function checkObject(value: unknown, field: string, what = 'an object'): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return
  throw new InvalidError(field, `must be ${what}, got ${typeName(value)}`)
}

/** Accepts an object with this method, such as a store. */
export function checkMethod(value: unknown, field: string, method: string, what: string): void {
  checkObject(value, field, what)
  if (typeof (value as Record<string, unknown>)[method] !== 'function')
    throw new InvalidError(field, `must be ${what}: it has no method ${method}`)
}

/** Accepts an object that has no other fields than these: a misspelled one would have no effect. */
export function checkKnownFields(value: unknown, field: string, known: Readonly<Record<string, true>>): void {
  checkObject(value, field)
  for (const [name, given] of Object.entries(value as object)) {
    if (!Object.hasOwn(known, name) && given !== undefined)
      throw new InvalidError(field, `has no option ${name.slice(0, 64)}`)
  }
}

/** Accepts a function. */
export function checkFunction(value: unknown, field: string): void {
  if (typeof value !== 'function') throw new InvalidError(field, `must be a function, got ${typeName(value)}`)
}

/** Accepts a list. `what` says what it should be. */
export function checkList(value: unknown, field: string, what = 'a list'): void {
  if (!Array.isArray(value)) throw new InvalidError(field, `must be ${what}, got ${typeName(value)}`)
}

/** Accepts a source of values: a list, a stream, a generator. */
export function checkIterable(value: unknown, field: string): void {
  const isObject = typeof value === 'object' && value !== null
  if (!isObject || !(Symbol.asyncIterator in value || Symbol.iterator in value))
    throw new InvalidError(field, `must be iterable, got ${typeName(value)}`)
}

/** Accepts a list with at least one element. */
export function checkNonEmpty(value: unknown, field: string): void {
  checkList(value, field)
  if ((value as readonly unknown[]).length === 0) throw new InvalidError(field, 'must not be empty')
}
