import { createHash } from 'node:crypto'
import { type ElementType, encodeArray } from './binary.ts'

/** A statement as sent to PostgreSQL: parsed once per connection, under a name made from its text. */
export interface PreparedStatement {
  readonly name: string
  /** What people call it: its name in the driver, or its first word. */
  readonly label: string
  readonly sql: string
  readonly params: readonly Param[]
  /** Makes a row of the texts of its columns. Null: by the names and types of the columns. */
  readonly readRow: RowReader | null
}

/** Makes a row of the texts of its columns, in the order of the statement. */
export type RowReader = (fields: readonly (string | null)[]) => Record<string, unknown>

interface Param {
  readonly name: string
  /** How a list is sent: as JSON, or as an array of this type. */
  readonly list: ElementType | 'json' | null
}

/** The value of a parameter: text or bytes. */
export type ParameterValue = string | Buffer | null

/** A statement with its values. */
export interface BoundStatement {
  readonly statement: PreparedStatement
  readonly values: readonly ParameterValue[]
  /** The rows of a COPY. */
  readonly input?: Buffer
}

/** Reads `@name` parameters. All occurrences of a name are the same parameter. The cast of its first
 *  occurrence decides how a list is sent. */
export function prepare(
  text: string,
  label = firstWord(text),
  readRow: RowReader | null = null,
): PreparedStatement {
  const params: Param[] = []
  // An `@` after another one, or without a letter after it, is an operator.
  const mark = /(?<!@)@([a-z_]+)(?=(?:::(json\b|\w+\[\]))?)/g
  const sql = text.replace(mark, (_, name: string, cast?: string) => {
    const known = params.findIndex(param => param.name === name)
    if (known >= 0) return `$${known + 1}`
    return `$${params.push({ name, list: (cast?.replace('[]', '') as Param['list'] | undefined) ?? null })}`
  })
  const name = `skein_${createHash('sha256').update(sql).digest('hex').slice(0, 20)}`
  return { name, label, sql, params, readRow }
}

function firstWord(text: string): string {
  return text.trim().split(/\s/, 1)[0] ?? ''
}

/** Puts values in the order of the parameters. Throws if one is missing, because it would be stored as
 *  null. */
export function bind(statement: PreparedStatement, given: Readonly<Record<string, unknown>>): BoundStatement {
  const values = statement.params.map(({ name, list }) => {
    const value = given[name]
    if (value === undefined) throw new TypeError(`parameter ${name} is missing in: ${statement.sql}`)
    return encode(value, list)
  })
  return { statement, values }
}

function encode(value: unknown, list: Param['list']): ParameterValue {
  if (value === null || typeof value === 'string') return value
  if (typeof value === 'number') return String(value)
  if (list === 'json') return JSON.stringify(value)
  if (list !== null) return encodeArray(list, value as readonly unknown[])
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  throw new TypeError(`a parameter cannot be ${typeof value}`)
}
