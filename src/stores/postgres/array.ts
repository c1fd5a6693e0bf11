/** The types whose lists are sent, with their numbers in PostgreSQL's catalogue. */
const types = { text: 25, int: 23, bigint: 20, bytea: 17 } as const

export type ElementType = keyof typeof types

/** A list as PostgreSQL takes an array in binary: texts need no quotes, and the server has nothing to parse. */
export function encodeArray(type: ElementType, list: readonly unknown[]): Buffer {
  const { size, write } = codecs[type]
  let total = list.length > 0 ? 20 : 12
  for (const element of list) total += 4 + (element === null ? 0 : size(element))
  const bytes = Buffer.allocUnsafe(total)
  bytes.writeInt32BE(list.length > 0 ? 1 : 0, 0) // dimensions
  bytes.writeInt32BE(list.includes(null) ? 1 : 0, 4)
  bytes.writeInt32BE(types[type], 8)
  if (list.length === 0) return bytes
  bytes.writeInt32BE(list.length, 12)
  bytes.writeInt32BE(1, 16) // the first has the number 1
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
  /** Returns how many bytes it wrote. */
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
