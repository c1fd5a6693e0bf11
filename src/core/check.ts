import { InvalidError } from './errors.ts'
import type { Json, JsonObject } from './json.ts'

/** The last millisecond of the year 9999: what fits an ISO date of four digits. */
export const latestTime = 253_402_300_799_999

/** Accepts keys, names and labels: 1 to 512 bytes of well-formed text without NUL. */
export function checkName(text: unknown, field: string): string {
  const name = checkText(text, field, 512)
  if (name === '') throw new InvalidError(field, 'must not be empty')
  return name
}

/** Accepts well-formed text without NUL, so that both engines store the same bytes. */
export function checkText(text: unknown, field: string, maxBytes: number): string {
  if (typeof text !== 'string') throw new InvalidError(field, `must be text, got ${kindOf(text)}`)
  // UTF-8 needs at most 3 bytes for a UTF-16 unit: short text need not be measured.
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

/** Accepts a list with at least one element. */
export function checkNonEmpty(value: unknown, field: string): void {
  if (!Array.isArray(value)) throw new InvalidError(field, `must be a list, got ${kindOf(value)}`)
  if (value.length === 0) throw new InvalidError(field, 'must not be empty')
}

/** Accepts a plain JSON object and returns its text, of at most `maxBytes`. */
export function checkJsonObject(value: unknown, field: string, maxBytes: number): string {
  if (!isPlainObject(value)) throw new InvalidError(field, `must be a JSON object, got ${kindOf(value)}`)
  checkJson(value, field)
  const text = JSON.stringify(value)
  if (Buffer.byteLength(text) > maxBytes)
    throw new InvalidError(field, `must be at most ${maxBytes} bytes of JSON`)
  return text
}

/** The longest string that is taken, in UTF-16 units: what V8 can still hold twice over. */
export const longestString = 134_217_728

/** Nesting beyond this is refused: nobody means it, and every reader would have to survive it. */
export const maxNesting = 256

/** Refuses what JSON would drop or change without a word: functions, NaN, class instances, cycles. Names the place only where
 *  there is something to refuse: to make up the names of all members is 3 % of what an append takes. */
export function checkJson(value: unknown, field: string): asserts value is Json {
  if (isJson(value, 0)) return
  refuse(value, field, 0)
  throw new InvalidError(field, 'must be JSON')
}

function isJson(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case 'string':
      return value.length <= longestString
    case 'boolean':
      return true
    case 'number':
      return Number.isFinite(value)
    case 'object':
      break
    default:
      return false
  }
  if (value === null) return true
  if (depth >= maxNesting) return false
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (!isJson(value[i], depth + 1)) return false
    return true
  }
  if (!isPlainObject(value)) return false
  for (const key of Object.keys(value)) {
    const member = value[key]
    // As in JSON itself, an undefined member counts as absent.
    if (member !== undefined && !isJson(member, depth + 1)) return false
  }
  return true
}

/** Looks for what is no JSON, and throws InvalidError with its place. */
function refuse(value: unknown, field: string, depth: number): void {
  if (typeof value === 'string' && value.length > longestString)
    throw new InvalidError(field, `must be at most ${longestString} characters long`)
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new InvalidError(field, `must be a finite number, got ${value}`)
  if (value === null || ['string', 'boolean', 'number'].includes(typeof value)) return
  if (typeof value !== 'object') throw new InvalidError(field, `must be JSON, got ${kindOf(value)}`)
  if (depth >= maxNesting)
    throw new InvalidError(field, `is nested deeper than ${maxNesting} levels, or in itself`)
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) refuse(value[i], `${field}[${i}]`, depth + 1)
    return
  }
  if (!isPlainObject(value)) throw new InvalidError(field, `must be plain JSON, got ${kindOf(value)}`)
  for (const key of Object.keys(value)) {
    if (value[key] !== undefined) refuse(value[key], `${field}.${key}`, depth + 1)
  }
}

export function isPlainObject(value: unknown): value is JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Names what a value is, for an error line. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value !== 'object') return typeof value
  const name: unknown = Object.getPrototypeOf(value)?.constructor?.name
  return typeof name === 'string' && name !== 'Object' ? name : 'an object'
}
