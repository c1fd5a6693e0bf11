import { createHash } from 'node:crypto'

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

/** The element types of arrays, with their OIDs. */
const types = { text: 25, int: 23, bigint: 20, bytea: 17 } as const

type ElementType = keyof typeof types

/** A list in PostgreSQL's binary array format: texts need no quotes, and the server need not parse. */
function encodeArray(type: ElementType, list: readonly unknown[]): Buffer {
  const { size, write } = codecs[type]
  let total = list.length > 0 ? 20 : 12
  for (const element of list) total += 4 + (element === null ? 0 : size(element))
  const bytes = Buffer.allocUnsafe(total)
  bytes.writeInt32BE(list.length > 0 ? 1 : 0, 0) // dimensions
  bytes.writeInt32BE(list.includes(null) ? 1 : 0, 4)
  bytes.writeInt32BE(types[type], 8)
  if (list.length === 0) return bytes
  bytes.writeInt32BE(list.length, 12)
  bytes.writeInt32BE(1, 16) // lower bound
  let at = 20
  for (const element of list) {
    const length = element === null ? 0 : write(element, bytes, at + 4)
    bytes.writeInt32BE(element === null ? -1 : length, at)
    at += 4 + length
  }
  return bytes
}

interface Codec {
  size(element: unknown): number
  /** Returns the number of written bytes. */
  write(element: unknown, bytes: Buffer, at: number): number
}

const codecs: Readonly<Record<ElementType, Codec>> = {
  text: {
    size: element => Buffer.byteLength(element as string),
    write: (element, bytes, at) => bytes.write(element as string, at),
  },
  bytea: {
    size: element => (element as Uint8Array).length,
    write: (element, bytes, at) => {
      bytes.set(element as Uint8Array, at)
      return (element as Uint8Array).length
    },
  },
  int: {
    size: () => 4,
    write: (element, bytes, at) => bytes.writeInt32BE(element as number, at) - at,
  },
  bigint: {
    size: () => 8,
    write: (element, bytes, at) => {
      const high = Math.floor((element as number) / 2 ** 32)
      bytes.writeInt32BE(high, at)
      return bytes.writeUInt32BE((element as number) - high * 2 ** 32, at + 4) - at
    },
  },
}
