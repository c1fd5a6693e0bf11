import { createHash } from 'node:crypto'

/** A statement as PostgreSQL is given it: parsed once a connection, under a name made from its text. */
export interface Prepared {
  readonly name: string
  readonly sql: string
  readonly params: readonly { readonly name: string; readonly json: boolean }[]
}

/** What is sent for a parameter: text, or bytes. */
export type Value = string | Buffer | null

/** A statement with its values. */
export interface Bound {
  readonly statement: Prepared
  readonly values: readonly Value[]
}

/** Reads `@name` parameters. A name that recurs is the same parameter; one cast to json takes a list as
 *  JSON, any other takes it as an array. */
export function prepare(text: string): Prepared {
  const params: { name: string; json: boolean }[] = []
  // An `@` that follows one, or that no letter follows, is an operator.
  const sql = text.replace(/(?<!@)@([a-z_]+)(::json\b)?/g, (_, name: string, cast = '') => {
    const known = params.findIndex(param => param.name === name)
    const position = known < 0 ? params.push({ name, json: cast !== '' }) : known + 1
    return `$${position}${cast}`
  })
  return { name: `skein_${createHash('sha256').update(sql).digest('hex').slice(0, 20)}`, sql, params }
}

/** Puts values in the order of the parameters. Throws if one is missing: it would be stored as null. */
export function bind(statement: Prepared, given: Readonly<Record<string, unknown>>): Bound {
  const values = statement.params.map(({ name, json }) => {
    const value = given[name]
    if (value === undefined) throw new TypeError(`parameter ${name} is missing in: ${statement.sql}`)
    return json ? JSON.stringify(value) : encode(value)
  })
  return { statement, values }
}

function encode(value: unknown): Value {
  if (value === null || typeof value === 'string') return value
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  if (Array.isArray(value)) return `{${value.map(encodeMember).join(',')}}`
  return String(value)
}

function encodeMember(member: unknown): string {
  if (member === null) return 'NULL'
  return `"${String(member).replace(/[\\"]/g, '\\$&')}"`
}
