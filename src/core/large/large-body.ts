import { createHash } from 'node:crypto'
import { type Body, blobLimit, type NewBlob, referenceTo } from '../body.ts'
import { longestBody, tooLong } from '../prepare.ts'
import { base64Blob, textBlob } from './encode-text.ts'
import type { Stepwise } from './stepwise.ts'
import { renameReserved, type TakenBody } from './take-body.ts'
import { writeJson } from './write-json.ts'

/** The same stored form as that of `encodeBody`, byte for byte. */
export function* encodeLargeBody({ root, longTexts, reserved }: TakenBody, field: string): Stepwise<Body> {
  const blobs = new Map<string, NewBlob>()
  for (const { holder, key, isPayload } of longTexts) {
    const text = holder[key] as string
    const blob = isPayload ? yield* base64Blob(text) : yield* textBlob(text)
    if (blob === null || blob.data.length <= blobLimit) continue
    blobs.set(blob.hash, blob)
    holder[key] = referenceTo(blob)
  }
  for (const object of reserved) renameReserved(object)
  const pieces: string[] = []
  const hash = createHash('sha256')
  let length = 0
  yield* writeJson(root, piece => {
    length += piece.length
    if (length > longestBody) throw tooLong(field)
    pieces.push(piece)
    hash.update(piece)
  })
  return { text: pieces.join(''), hash: hash.digest('hex'), blobs: [...blobs.values()] }
}
