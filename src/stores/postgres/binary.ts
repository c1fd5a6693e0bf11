import type { ColumnType } from './queries/bulk.ts'

/** Values in the binary format of PostgreSQL: the server need not parse them, and texts need no quotes. */

/** The element types of arrays, with their OIDs. */
const arrayTypes = {
  text: 25,
  smallint: 21,
  int: 23,
  bigint: 20,
  bytea: 17,
  uuid: 2950,
  tsvector: 3614,
} as const

export type ElementType = keyof typeof arrayTypes

interface Codec {
  size(value: unknown): number
  /** Returns the number of written bytes. */
  write(value: unknown, bytes: Buffer, at: number): number
}

const codecs: Readonly<Record<ColumnType | ElementType, Codec>> = {
  text: {
    size: value => Buffer.byteLength(value as string),
    write: (value, bytes, at) => bytes.write(value as string, at),
  },
  bytea: {
    size: value => (value as Uint8Array).length,
    write: (value, bytes, at) => {
      bytes.set(value as Uint8Array, at)
      return (value as Uint8Array).length
    },
  },
  smallint: {
    size: () => 2,
    write: (value, bytes, at) => bytes.writeInt16BE(value as number, at) - at,
  },
  int: {
    size: () => 4,
    write: (value, bytes, at) => bytes.writeInt32BE(value as number, at) - at,
  },
  bigint: {
    size: () => 8,
    write: (value, bytes, at) => {
      const high = Math.floor((value as number) / 2 ** 32)
      bytes.writeInt32BE(high, at)
      return bytes.writeUInt32BE((value as number) - high * 2 ** 32, at + 4) - at
    },
  },
  uuid: {
    size: () => 16,
    write: (value, bytes, at) => bytes.write((value as string).replaceAll('-', ''), at, 'hex'),
  },
  // Given as words separated by spaces, each one once. Three zero bytes follow a word: its end, and the
  // number of its positions.
  tsvector: {
    size: value => 4 + Buffer.byteLength(value as string) + 2 * spacesIn(value as string) + 3,
    write: (value, bytes, at) => {
      const words = (value as string).replaceAll(' ', '\0\0\0')
      bytes.writeInt32BE(spacesIn(value as string) + 1, at)
      const end = at + 4 + bytes.write(words, at + 4)
      bytes.fill(0, end, end + 3)
      return end + 3 - at
    },
  },
  hex: {
    size: value => (value as string).length >> 1,
    write: (value, bytes, at) => bytes.write(value as string, at, 'hex'),
  },
}

export function encodeArray(type: ElementType, list: readonly unknown[]): Buffer {
  const codec = codecs[type]
  let total = list.length > 0 ? 20 : 12
  for (const element of list) total += sizeOf(codec, element)
  const bytes = Buffer.allocUnsafe(total)
  bytes.writeInt32BE(list.length > 0 ? 1 : 0, 0) // dimensions
  bytes.writeInt32BE(list.includes(null) ? 1 : 0, 4)
  bytes.writeInt32BE(arrayTypes[type], 8)
  if (list.length === 0) return bytes
  bytes.writeInt32BE(list.length, 12)
  bytes.writeInt32BE(1, 16) // lower bound
  let at = 20
  for (const element of list) at = write(codec, element, bytes, at)
  return bytes
}

const signature = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')

export type CopyRow = Readonly<Record<string, unknown>>

/** Rows as COPY reads them in its binary format. Their first column is the tenant. */
export function encodeCopy(
  tenant: string,
  columns: Readonly<Record<string, ColumnType>>,
  rows: readonly CopyRow[],
): Buffer {
  const fields = Object.entries(columns).map(([name, type]) => ({ name, codec: codecs[type] }))
  const start = Buffer.allocUnsafe(2 + sizeOf(codecs.text, tenant))
  write(codecs.text, tenant, start, start.writeInt16BE(1 + fields.length))
  let total = signature.length + rows.length * start.length + 2
  for (const row of rows) for (const { name, codec } of fields) total += sizeOf(codec, row[name])
  const bytes = Buffer.allocUnsafe(total)
  let at = signature.copy(bytes)
  for (const row of rows) {
    at += start.copy(bytes, at)
    for (const { name, codec } of fields) at = write(codec, row[name], bytes, at)
  }
  bytes.writeInt16BE(-1, at)
  return bytes
}

function spacesIn(text: string): number {
  let count = 0
  for (let at = text.indexOf(' '); at >= 0; at = text.indexOf(' ', at + 1)) count++
  return count
}

/** A value and its length, which is -1 for null. */
function sizeOf(codec: Codec, value: unknown): number {
  return 4 + (value === null ? 0 : codec.size(value))
}

function write(codec: Codec, value: unknown, bytes: Buffer, at: number): number {
  const length = value === null ? 0 : codec.write(value, bytes, at + 4)
  bytes.writeInt32BE(value === null ? -1 : length, at)
  return at + 4 + length
}
