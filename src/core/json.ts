import { InvalidError } from './errors.ts'

export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

/** Accepts a plain JSON object and returns its text, of at most `maxBytes`. */
export function checkJsonObject(value: unknown, field: string, maxBytes: number): string {
  if (!isPlainObject(value)) throw new InvalidError(field, `must be a JSON object, got ${typeName(value)}`)
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
  if (typeof value !== 'object') throw new InvalidError(field, `must be JSON, got ${typeName(value)}`)
  if (depth >= maxNesting)
    throw new InvalidError(field, `is nested deeper than ${maxNesting} levels, or in itself`)
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) refuse(value[i], `${field}[${i}]`, depth + 1)
    return
  }
  if (!isPlainObject(value)) throw new InvalidError(field, `must be plain JSON, got ${typeName(value)}`)
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
export function typeName(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value !== 'object') return typeof value
  const name: unknown = Object.getPrototypeOf(value)?.constructor?.name
  return typeof name === 'string' && name !== 'Object' ? name : 'an object'
}
