import { blobHashesIn, type LoadedBlob, previewBytes } from '../../core/body.ts'
import { CorruptError, NotFoundError } from '../../core/errors.ts'
import type { Message } from '../../core/message.ts'
import { all, first, later, type Program, run } from '../engine/engine.ts'
import { messageFromRow } from '../engine/row-to-value.ts'
import type { LooseMessageRow, PathRow } from '../engine/rows.ts'
import type { ParamsOf } from '../engine/statements.ts'
import { everything, type JoinedBlob, joinParts } from './blob-parts.ts'

/** Converts rows that contain their own conversation and parent to messages. */
export function* readLoose(rows: readonly LooseMessageRow[], mode: 'whole' | 'preview'): Program<Message[]> {
  return looseMessages(rows, yield* loadBlobs(rows, mode === 'preview' ? previewBytes : everything))
}

/** The same with blobs that have been read. */
export function looseMessages(rows: readonly LooseMessageRow[], loadBlob: BlobLoader): Message[] {
  return rows.map(row =>
    messageFromRow(row, {
      conversationId: row.conversation_id,
      parentId: row.parent_id,
      depth: row.depth,
      pathTokens: row.path_tokens,
      loadBlob,
    }),
  )
}

/** What precedes the first message of a chain. */
export interface ChainStart {
  readonly conversationId: string
  readonly parentId: string | null
  /** The number of messages and of tokens. */
  readonly depth: number
  readonly tokens: number
}

/** Converts the rows of one path, oldest first, to messages. Each message is the parent of the next. */
export function* readChain(
  rows: readonly PathRow[],
  { conversationId, parentId, depth, tokens }: ChainStart,
  mode: 'whole' | 'preview',
): Program<Message[]> {
  const loadBlob = yield* loadBlobs(rows, mode === 'preview' ? previewBytes : everything)
  let above = parentId
  let pathTokens = tokens
  return rows.map((row, i) => {
    pathTokens += row.tokens
    const around = { conversationId, parentId: above, depth: depth + i, pathTokens, loadBlob }
    above = row.id
    return messageFromRow(row, around)
  })
}

/** Returns a blob that has been read. */
export type BlobLoader = (hash: string) => LoadedBlob

export interface WithBody {
  readonly body: string | null
}

/** Loads the beginnings of the blobs that the bodies refer to. */
export function loadPreviews(rows: readonly WithBody[]): Program<BlobLoader> {
  return loadBlobs(rows, previewBytes)
}

/** Loads the blobs that the bodies refer to, the first `most` bytes of each, in one statement. More of them
 *  read the parts of large ones. */
export function* loadBlobs(rows: readonly WithBody[], most: number): Program<BlobLoader> {
  const hashes = hashesIn(rows)
  return loaderOf(hashes.length > 0 ? yield* joinParts(yield* all('blobs', { hashes, most }), most) : [])
}

/** Loads the blobs, the first `most` bytes of each, together with the next statement, which must follow. */
export function* laterBlobs(rows: readonly WithBody[], most: number): Program<() => Program<BlobLoader>> {
  const hashes = hashesIn(rows)
  const blobs = hashes.length > 0 ? yield* later('blobs', { hashes, most }) : () => []
  return function* () {
    return loaderOf(yield* joinParts(blobs(), most))
  }
}

function hashesIn(rows: readonly WithBody[]): string[] {
  const hashes = new Set<string>()
  for (const { body } of rows) {
    if (body !== null) for (const hash of blobHashesIn(body)) hashes.add(hash)
  }
  return [...hashes]
}

function loaderOf(blobs: readonly JoinedBlob[]): BlobLoader {
  const loaded = new Map(blobs.map(blob => [blob.hash, blob]))
  return hash => {
    const { data, size: bytes } = loaded.get(hash) ?? missing
    if (data === undefined) throw new Error(`blob ${hash} is missing`)
    if (data === null) throw new Error(lostPart(hash))
    return { data, bytes }
  }
}

const missing = { data: undefined, size: 0 }

function lostPart(hash: string): string {
  return `a part of blob ${hash} is missing`
}

/** Reads a blob. Its statements need no common snapshot, because a blob never changes: one that is removed
 *  meanwhile is not found. */
export function* readBlob(hash: string): Program<Uint8Array> {
  const [blob] = yield* joinParts(yield* all('blobs', { hashes: [hash], most: everything }), everything)
  if (blob?.data) return blob.data
  if (blob && (yield* first('blobSizes', { hashes: [hash] }))) throw new CorruptError(lostPart(hash))
  throw new NotFoundError('blob', hash)
}

/** Removes the blob references of a range, and the blobs that nothing else refers to. */
export function* dropBlobs(span: ParamsOf<'deleteBlobRefs'>): Program<void> {
  const hashes = (yield* all('blobsBetween', span)).map(row => row.hash)
  if (hashes.length === 0) return
  yield* run('deleteBlobRefs', span)
  yield* run('deleteLooseBlobs', { hashes })
}
