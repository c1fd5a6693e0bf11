import type { Conv } from '../../src/stores/engine/rows.ts'

const hash = 'h'
const hashes = [hash]
const everything = 2 ** 31 - 1

/** Parameters for each statement of blobs. */
export function blobSamples<C extends Conv>(conv: C) {
  const span = { conv, lo: 0, hi: 9 }
  return {
    putBlob: { hash, size: 3, data: new Uint8Array(3) },
    putLargeBlob: { hash: 'g', size: 3 },
    deleteBlobParts: { hash },
    putBlobPart: { hash, part: 0, data: new Uint8Array(3) },
    putBlobRef: { conv, seq: 0, hash },
    blobs: { hashes, most: everything },
    blobParts: { hashes, from: 0, below: 4, most: everything },
    deleteBlobRefs: span,
    blobsBetween: span,
    deleteLooseBlobs: { hashes },
    blobRefs: span,
    blobSizes: { hashes },
    rawBlobs: { after: '', limit: 10 },
    blobPiece: { hash, offset: 0, most: 10 },
    partCount: { hash },
    strayParts: {},
    blobUsers: { hash, limit: 10 },
  }
}
