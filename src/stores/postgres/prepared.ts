import { createHash } from 'node:crypto'
import { type ElementType, encodeArray } from './array.ts'

/** A statement as PostgreSQL is given it: parsed once a connection, under a name made from its text. */
export interface Prepared {
  readonly name: string
  readonly sql: string
  readonly params: readonly Param[]
}

interface Param {
  readonly name: string
  /** How a list is sent: as JSON, or as an array of this type. */
  readonly list: ElementType | 'json' | null
}

/** What is sent for a parameter: text, or bytes. */
export type Value = string | Buffer | null

/** A statement with its values. */
export interface Bound {
  readonly statement: Prepared
  readonly values: readonly Value[]
}

/** Reads `@name` parameters. A name that recurs is the same parameter, and where it stands first its cast says
 *  how a list is sent. */
export function prepare(text: string): Prepared {
  const params: Param[] = []
  // An `@` that follows one, or that no letter follows, is an operator.
  const mark = /(?<!@)@([a-z_]+)(?=(?:::(json\b|\w+\[\]))?)/g
  const sql = text.replace(mark, (_, name: string, cast?: string) => {
    const known = params.findIndex(param => param.name === name)
    if (known >= 0) return `$${known + 1}`
    return `$${params.push({ name, list: (cast?.replace('[]', '') as Param['list'] | undefined) ?? null })}`
  })
  return { name: `skein_${createHash('sha256').update(sql).digest('hex').slice(0, 20)}`, sql, params }
}

/** Puts values in the order of the parameters. Throws if one is missing: it would be stored as null. */
export function bind(statement: Prepared, given: Readonly<Record<string, unknown>>): Bound {
  const values = statement.params.map(({ name, list }) => {
    const value = given[name]
    if (value === undefined) throw new TypeError(`parameter ${name} is missing in: ${statement.sql}`)
    return encode(value, list)
  })
  return { statement, values }
}

function encode(value: unknown, list: Param['list']): Value {
  if (value === null || typeof value === 'string') return value
  if (typeof value === 'number') return String(value)
  if (list === 'json') return JSON.stringify(value)
  if (list !== null) return encodeArray(list, value as readonly unknown[])
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  throw new TypeError(`a parameter cannot be ${typeof value}`)
}
