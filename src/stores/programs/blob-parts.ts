import type { NewBlob } from '../../core/body.ts'
import { all, countChanges, first, type Program, run } from '../engine/engine.ts'
import type { RowOf } from '../engine/statements.ts'

/** Longer than any blob. */
export const everything = 2 ** 31 - 1

/** A blob of up to so many bytes is one row. A driver copies a value several times to read or write it, so
 *  the bytes of a larger one are in the rows of its parts, and its own row has none (decision 82). */
export const mostInRow = 4_194_304

/** Bytes of a part. The last one has the rest too. More than any beginning that is read. */
export const partBytes = 1_048_576

/** Most parts in memory besides the blob itself. */
const partsAtOnce = 4

const cuts = new WeakMap<Uint8Array, readonly Uint8Array[]>()

/** The values that store a blob: its bytes, or its parts, which share them. The same objects at each call,
 *  because an engine may get them before the transaction. */
export function storedValues(data: Uint8Array): readonly Uint8Array[] {
  if (data.length <= mostInRow) return [data]
  const known = cuts.get(data)
  if (known) return known
  const count = Math.floor(data.length / partBytes)
  const parts = Array.from({ length: count }, (_, part) =>
    data.subarray(part * partBytes, part === count - 1 ? data.length : (part + 1) * partBytes),
  )
  cuts.set(data, parts)
  return parts
}

/** Stores a blob, unless it is stored. */
export function* putBlob({ hash, data }: NewBlob): Program<void> {
  const size = data.length
  if (size <= mostInRow) return yield* run('putBlob', { hash, size, data })
  do {
    if (yield* first('keepBlobs', { hashes: [hash] })) return
    // Nothing is written if another process has stored it since. It may be removed again.
  } while ((yield* countChanges('putLargeBlob', { hash, size })) === 0)
  // Other processes wait for the row. Parts can only be left of a damaged blob.
  yield* run('deleteBlobParts', { hash })
  for (const [part, bytes] of storedValues(data).entries()) {
    const row = { hash, part, data: bytes }
    // A result that is read makes a driver send the parts that wait.
    if ((part + 1) % partsAtOnce === 0) yield* countChanges('putBlobPart', row)
    else yield* run('putBlobPart', row)
  }
}

/** A blob of which the beginning or all of it was read. Without data if it has lost a part. */
export interface JoinedBlob {
  readonly hash: string
  readonly size: number
  readonly data: Uint8Array | null
}

/** Reads the parts of those blobs that have parts: as `most` says, the beginnings or everything. */
export function* joinParts(rows: readonly RowOf<'blobs'>[], most: number): Program<readonly JoinedBlob[]> {
  const hashes = rows.filter(isInParts).map(({ hash }) => hash)
  if (hashes.length === 0) return rows
  const read = new Map<string, Uint8Array>()
  if (most <= partBytes) {
    const parts = yield* all('blobParts', { hashes, from: 0, below: 1, most })
    for (const { hash, data } of parts) read.set(hash, data)
  }
  const joined: JoinedBlob[] = []
  for (const row of rows) {
    const { hash, size } = row
    if (!isInParts(row)) joined.push(row)
    else if (most <= partBytes) joined.push({ hash, size, data: read.get(hash) ?? null })
    else joined.push({ hash, size, data: yield* readParts(row) })
  }
  return joined
}

/** Whether the bytes of a blob are in its parts. */
export function isInParts({ size, data }: Pick<RowOf<'blobs'>, 'size' | 'data'>): boolean {
  return data.length === 0 && size > 0
}

function* readParts({ hash, size }: RowOf<'blobs'>): Program<Uint8Array | null> {
  if (size > everything) return null
  const bytes = Buffer.allocUnsafeSlow(size)
  let filled = 0
  for (let from = 0; filled < size; from += partsAtOnce) {
    const range = { hashes: [hash], from, below: from + partsAtOnce, most: everything }
    const parts = (yield* all('blobParts', range)).toSorted((a, b) => a.part - b.part)
    if (parts.length === 0) return null
    for (const [i, { part, data }] of parts.entries()) {
      if (part !== from + i || filled + data.length > size) return null
      bytes.set(data, filled)
      filled += data.length
      freePart(data)
    }
  }
  return bytes
}

/** Frees the bytes of a part that is not needed any more. V8 collects a few parts of 1 MB as late as many:
 *  the parts of 100 MB took as much memory as the blob. */
export function freePart({ buffer, length }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0)
}
