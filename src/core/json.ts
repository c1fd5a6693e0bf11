import { InvalidError } from './errors.ts'

/** Any value that JSON can represent. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
/** An object whose members are JSON. A member that is undefined counts as absent. */
export interface JsonObject {
  /** The members by name. */
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

/** The longest accepted string, in UTF-16 units: V8 can still hold two of them. */
export const longestString = 134_217_728

/** The deepest accepted nesting. Deeper input is an error and would overflow readers' stacks. */
export const maxNesting = 256

/** Refuses values that JSON would drop or change silently: functions, NaN, class instances, cycles. The
 *  path of a member is only built for an error: building all of them takes 3 % of an append. */
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

/** Throws InvalidError with the path of the first member that is not JSON. */
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

/** The type of a value, for error messages. */
export function typeName(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value !== 'object') return typeof value
  const name: unknown = Object.getPrototypeOf(value)?.constructor?.name
  return typeof name === 'string' && name !== 'Object' ? name : 'an object'
}
