/** The types whose lists are sent, with their numbers in PostgreSQL's catalogue. */
const types = { text: 25, int: 23, bigint: 20, bytea: 17 } as const

export type ElementType = keyof typeof types

/** A list as PostgreSQL takes an array in binary: texts need no quotes, and the server has nothing to parse. */
export function encodeArray(type: ElementType, list: readonly unknown[]): Buffer {
  const elements = list.map(element => (element === null ? null : encoders[type](element)))
  const size = elements.reduce((sum, element) => sum + 4 + (element?.length ?? 0), list.length > 0 ? 20 : 12)
  const bytes = Buffer.allocUnsafe(size)
  bytes.writeInt32BE(list.length > 0 ? 1 : 0, 0) // dimensions
  bytes.writeInt32BE(list.includes(null) ? 1 : 0, 4)
  bytes.writeInt32BE(types[type], 8)
  if (list.length === 0) return bytes
  bytes.writeInt32BE(list.length, 12)
  bytes.writeInt32BE(1, 16) // the first has the number 1
  let at = 20
  for (const element of elements) {
    at = bytes.writeInt32BE(element?.length ?? -1, at)
    if (element) at += element.copy(bytes, at)
  }
  return bytes
}

const encoders: Readonly<Record<ElementType, (element: unknown) => Buffer>> = {
  text: element => Buffer.from(element as string),
  bytea: element => Buffer.from(element as Uint8Array),
  int: element => {
    const bytes = Buffer.allocUnsafe(4)
    bytes.writeInt32BE(element as number)
    return bytes
  },
  bigint: element => {
    const bytes = Buffer.allocUnsafe(8)
    bytes.writeBigInt64BE(BigInt(element as number))
    return bytes
  },
}
