import { createHash } from 'node:crypto'
import type { NewBlob } from '../body.ts'
import type { Stepwise } from './stepwise.ts'

/** Characters between two pauses. Encoding and hashing so many takes about 1 ms. A multiple of 4, so that
 *  base64 can be cut there. */
const piece = 262_144

/** The pieces of a text. No piece ends inside a character. */
export function* piecesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(text.length, start + piece)
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end++
    yield text.slice(start, end)
    start = end
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

/** The number of bytes of the UTF-8 of a text, or null if it has a lone surrogate and therefore no UTF-8. */
export function* utf8BytesOf(text: string): Stepwise<number | null> {
  let length = 0
  for (const part of piecesOf(text)) {
    if (!part.isWellFormed()) return null
    length += Buffer.byteLength(part)
    yield
  }
  return length
}

/** A text as a blob, or null if it has no UTF-8. */
export function* textBlob(text: string): Stepwise<NewBlob | null> {
  const length = yield* utf8BytesOf(text)
  if (length === null) return null
  return yield* blobOf(length, piecesOf(text), part => Buffer.from(part))
}

/** The bytes of base64 as a blob, or null if they do not encode to exactly this text. */
export function* base64Blob(base64: string): Stepwise<NewBlob | null> {
  let length = 0
  for (const part of partsOf(base64)) {
    const bytes = Buffer.from(part, 'base64')
    // Only the last piece may have padding, and only it is shorter.
    if (length % bytesOfPart !== 0 || bytes.toString('base64') !== part) return null
    length += bytes.length
    yield
  }
  return yield* blobOf(length, partsOf(base64), part => Buffer.from(part, 'base64'))
}

const bytesOfPart = (piece / 4) * 3

function* partsOf(base64: string): Generator<string> {
  for (let at = 0; at < base64.length; at += piece) yield base64.slice(at, at + piece)
}

/** Written piece by piece into one buffer: copying all of it at once would take 1 ms for each megabyte. */
function* blobOf(
  length: number,
  parts: Iterable<string>,
  encode: (part: string) => Buffer,
): Stepwise<NewBlob> {
  const hash = createHash('sha256')
  const data = Buffer.allocUnsafeSlow(length)
  let at = 0
  for (const part of parts) {
    const bytes = encode(part)
    hash.update(bytes)
    at += bytes.copy(data, at)
    yield
  }
  return { hash: hash.digest('hex'), data }
}
