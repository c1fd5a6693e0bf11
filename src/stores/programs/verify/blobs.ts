import { createHash } from 'node:crypto'
import { errorText } from '../../../core/error-text.ts'
import { all, first, type Program } from '../../engine/engine.ts'
import type { Conv } from '../../engine/rows.ts'
import type { RawMessageRow, VerifyStatements } from '../../engine/statements-verify.ts'
import { everything, freePart } from '../blob-parts.ts'
import { type FindingList, isDamage, subjectOf } from './findings.ts'

const reference = /\{"\$blob":"([0-9a-f]{64})","bytes":(\d+)\}/g

/** Checks that the blobs of bodies exist with the stated length, and that the stored references match the
 *  bodies. */
export function* checkBlobRefs(
  conv: Conv,
  rows: readonly RawMessageRow[],
  findings: FindingList,
): Program<void> {
  if (rows.length === 0) return
  const listed = new Map<number, Set<string>>()
  const span = { conv, lo: rows[0]!.found_at, hi: rows.at(-1)!.found_at }
  for (const { seq, hash } of yield* all('blobRefs', span)) {
    listed.set(seq, (listed.get(seq) ?? new Set()).add(hash))
  }
  const said = rows.map(row => ({ row, refs: typeof row.body === 'string' ? refsIn(row.body) : none }))
  const hashes = [...new Set(said.flatMap(({ refs }) => [...refs.keys()]))]
  const sizes = new Map<string, number>()
  if (hashes.length > 0) {
    for (const { hash, size } of yield* all('blobSizes', { hashes })) sizes.set(hash, size)
  }
  for (const { row, refs } of said) {
    const about = subjectOf(row)
    const known = listed.get(row.found_at)
    for (const [hash, bytes] of refs) {
      const size = sizes.get(hash)
      if (size === undefined) findings.add('damage', `its blob ${hash} is missing`, about)
      else if (size !== bytes)
        findings.add(
          'damage',
          `its blob ${hash} should have ${bytes} bytes, and is said to have ${size}`,
          about,
        )
      if (!known?.delete(hash)) findings.add('repairable', `its blob ${hash} is not listed as its own`, about)
    }
    for (const hash of known ?? [])
      findings.add('repairable', `blob ${hash} is listed as its own, and it does not refer to it`, about)
  }
}

const none: ReadonlyMap<string, number> = new Map()

function refsIn(body: string): ReadonlyMap<string, number> {
  if (!body.includes('$blob"')) return none
  return new Map([...body.matchAll(reference)].map(([, hash, bytes]) => [hash!, Number(bytes)]))
}

/** Bytes of a blob to read at a time. */
const pieceBytes = 16 * 2 ** 20

/** Checks a blob against its hash. Returns the problem, or null. */
export function* checkBlob(blob: VerifyStatements['rawBlobs'][1]): Program<string | null> {
  const { hash, size } = blob
  const hasParts = blob.length === 0 && size > 0
  const digest = createHash('sha256')
  let [bytes, parts] = [0, 0]
  try {
    for (;;) {
      const piece: { readonly data: Uint8Array } | undefined = hasParts
        ? yield* first('blobParts', { hashes: [hash], from: parts, below: parts + 1, most: everything })
        : yield* first('blobPiece', { hash, offset: bytes, most: pieceBytes })
      if (!piece || piece.data.length === 0) break
      digest.update(piece.data)
      bytes += piece.data.length
      parts++
      if (hasParts) freePart(piece.data)
      else if (bytes >= blob.length) break
    }
    if (digest.digest('hex') !== hash) return 'does not match its hash'
    const counted = hasParts ? yield* first('partCount', { hash }) : undefined
    if (counted && counted.count !== parts) return `has ${counted.count - parts} parts too many`
  } catch (error) {
    if (!isDamage(error)) throw error
    return `cannot be read: ${errorText(error)}`
  }
  return bytes === size ? null : `is said to have ${size} bytes, and has ${bytes}`
}
