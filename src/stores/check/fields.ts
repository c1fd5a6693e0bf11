import * as core from '../../core/check.ts'
import { checkObject } from '../../core/check.ts'
import { InvalidError } from '../../core/errors.ts'
import { checkJsonObject, isPlainObject } from '../../core/json.ts'

/** Checks one value and returns it. Throws InvalidError naming the field. */
export type FieldCheck = (value: never, field: string) => unknown

/** A check for each field of T. The compiler lists the fields that have none. */
export type FieldTable<T> = { readonly [K in keyof T]-?: FieldCheck }

/** Checks the fields of an object in the order of the table and returns the object. */
export function fields<T>(table: FieldTable<T>) {
  return <G extends T>(given: G, field = ''): G => {
    const prefix = field === '' ? '' : `${field}.`
    checkObject(given, field === '' ? 'options' : field)
    for (const key in table) table[key](given[key] as never, prefix + key)
    return given
  }
}

/** The same, and refuses other fields: a misspelled filter would find the conversations of everybody. */
export function onlyFields<T>(table: FieldTable<T>) {
  const check = fields<T>(table)
  return <G extends T>(given: G, field = ''): G => {
    check(given, field)
    for (const key in given) {
      if (!Object.hasOwn(table, key) && given[key] !== undefined)
        throw new InvalidError(field === '' ? 'options' : field, `has no option ${key.slice(0, 64)}`)
    }
    return given
  }
}

/** Accepts everything: the value is checked where it is used. */
export const unchecked: FieldCheck = () => undefined

/** Checks the fields of an object and returns a new object that has only the fields of the table. */
export function pickFields<T>(table: FieldTable<T>) {
  return (given: object, field = ''): T => {
    const prefix = field === '' ? '' : `${field}.`
    const picked: Partial<Record<keyof T, unknown>> = {}
    for (const key in table)
      picked[key] = table[key]((given as Record<keyof T, never>)[key], prefix === '' ? key : prefix + key)
    return picked as T
  }
}

/** A plain object, checked further by `check`. `problem` is the error for anything else. */
export function plainObject<T>(problem: string, check: (given: T & object, field: string) => T) {
  return (given: T, field: string): T => {
    if (!isPlainObject(given)) throw new InvalidError(field, problem)
    return check(given, field)
  }
}

/** A list of at least one element. */
export function nonEmptyList<T>(field: string, check: (given: T, field: string) => T) {
  return (list: readonly T[]): readonly T[] => {
    core.checkNonEmpty(list, field)
    for (const [i, element] of list.entries()) check(element, `${field}[${i}]`)
    return list
  }
}

/** Wraps each check of a table: `each(optional, { … })`. */
export function each<K extends string>(
  wrap: (check: FieldCheck) => FieldCheck,
  table: Record<K, FieldCheck>,
) {
  const pairs = Object.entries<FieldCheck>(table).map(([key, check]) => [key, wrap(check)])
  return Object.fromEntries(pairs) as Record<K, FieldCheck>
}

/** May be absent. */
export function optional(check: FieldCheck): FieldCheck {
  return (value, field) => (value === undefined ? undefined : check(value, field))
}

/** May be null, but not absent. */
export function orNull(check: FieldCheck): FieldCheck {
  return (value, field) => (value === null ? null : check(value, field))
}

/** May be absent or null. */
export function maybe(check: FieldCheck): FieldCheck {
  return (value, field) => (value == null ? value : check(value, field))
}

export function required(check: FieldCheck): FieldCheck {
  return (value, field) => {
    if (value == null) throw new InvalidError(field, 'is missing')
    return check(value, field)
  }
}

export function textUpTo(maxBytes: number) {
  return (value: unknown, field: string) => core.checkText(value, field, maxBytes)
}

export function numberFrom(least: number, most: number) {
  return (value: unknown, field: string) => core.checkCount(value, field, least, most)
}

export function wordFrom<T extends string>(...words: readonly T[]) {
  return (value: unknown, field: string) => core.checkChoice(value, field, words)
}

export function jsonObject(maxBytes: number): FieldCheck {
  return (value, field) => {
    checkJsonObject(value, field, maxBytes)
    return value
  }
}

export function listOf<T>(check: (value: T, field: string) => T) {
  return (list: readonly T[], field: string): readonly T[] => {
    if (!Array.isArray(list)) throw new InvalidError(field, 'must be a list')
    return list.map((element, i) => check(element, `${field}[${i}]`))
  }
}

/** A list that may be absent. The error names the list, not the element. */
export function anyOf(check: (value: unknown, field: string) => unknown): FieldCheck {
  return (list: Iterable<unknown> | undefined, field) => {
    for (const element of list ?? []) check(element, field)
  }
}

/** SHA-256. */
export function checkHash(value: unknown, field: string): string {
  if (typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)) return value
  throw new InvalidError(field, 'must be SHA-256 in lower-case hex')
}

export function checkCost(value: unknown, field: string): number {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value
  throw new InvalidError(field, 'must be a number that is not negative')
}

/** Fits PostgreSQL's `int`: seqs, steps, tokens of a message. */
export const checkInt32 = numberFrom(0, 2 ** 31 - 1)
export const checkInt53 = numberFrom(0, 2 ** 53 - 1)
export const checkTitle = textUpTo(2_000)
export const checkReason = textUpTo(2_000)
export const checkPath = textUpTo(8_192)
/** Prompts and summaries. */
export const checkLongText = textUpTo(16_777_216)
export const checkEventData = jsonObject(16_777_216)
