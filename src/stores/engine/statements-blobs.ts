import type { Conv } from './rows.ts'

interface SeqSpan {
  readonly conv: Conv
  readonly lo: number
  readonly hi: number
}

/** The statements of blobs: strings and payloads above 16 kB. */
export interface BlobStatements {
  putBlob: [{ hash: string; size: number; data: Uint8Array }, never]
  /** The row of a blob whose bytes are in parts. Writes nothing if the blob is stored. */
  putLargeBlob: [{ hash: string; size: number }, never]
  deleteBlobParts: [{ hash: string }, never]
  putBlobPart: [{ hash: string; part: number; data: Uint8Array }, never]
  putBlobRef: [{ conv: Conv; seq: number; hash: string }, never]
  /** The first `most` bytes of each. No bytes of a blob that has parts. */
  blobs: [{ hashes: readonly string[]; most: number }, { hash: string; size: number; data: Uint8Array }]
  /** The parts from `from` up to `below`, exclusive, the first `most` bytes of each, in any order. The bytes
   *  are copies, and the caller frees them. */
  blobParts: [
    { hashes: readonly string[]; from: number; below: number; most: number },
    { hash: string; part: number; data: Uint8Array },
  ]
  deleteBlobRefs: [SeqSpan, never]
  blobsBetween: [SeqSpan, { hash: string }]
  /** Removes those blobs that are not referred to, also not by an uncommitted transaction, and their
   *  parts. */
  deleteLooseBlobs: [{ hashes: readonly string[] }, never]
}
