import { blobHashesIn, type LoadedBlob, previewBytes } from '../../core/body.ts'
import { NotFoundError } from '../../core/errors.ts'
import type { Message } from '../../core/message.ts'
import { all, first, later, type Program, run } from '../engine/engine.ts'
import { messageFromRow } from '../engine/row-to-value.ts'
import type { LooseMessageRow, PathRow } from '../engine/rows.ts'
import type { ParamsOf, RowOf } from '../engine/statements.ts'

/** Longer than any blob. */
const everything = 2 ** 31 - 1

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
type BlobLoader = (hash: string) => LoadedBlob

interface WithBody {
  readonly body: string | null
}

/** Loads the beginnings of the blobs that the bodies refer to. */
export function loadPreviews(rows: readonly WithBody[]): Program<BlobLoader> {
  return loadBlobs(rows, previewBytes)
}

/** Loads the blobs that the bodies refer to, the first `most` bytes of each, in one statement. */
export function* loadBlobs(rows: readonly WithBody[], most: number): Program<BlobLoader> {
  const hashes = hashesIn(rows)
  return loaderOf(hashes.length > 0 ? yield* all('blobs', { hashes, most }) : [])
}

/** Loads the beginnings of the blobs together with the next statement, which must follow. */
export function* laterPreviews(rows: readonly WithBody[]): Program<() => BlobLoader> {
  const hashes = hashesIn(rows)
  if (hashes.length === 0) return () => loaderOf([])
  const blobs = yield* later('blobs', { hashes, most: previewBytes })
  return () => loaderOf(blobs())
}

function hashesIn(rows: readonly WithBody[]): string[] {
  const hashes = new Set<string>()
  for (const { body } of rows) {
    if (body !== null) for (const hash of blobHashesIn(body)) hashes.add(hash)
  }
  return [...hashes]
}

function loaderOf(rows: readonly RowOf<'blobs'>[]): BlobLoader {
  const loaded = new Map<string, LoadedBlob>()
  for (const { hash, size, data } of rows) loaded.set(hash, { data, bytes: size })
  return hash => {
    const blob = loaded.get(hash)
    if (!blob) throw new Error(`blob ${hash} is missing`)
    return blob
  }
}

export function* readBlob(hash: string): Program<Uint8Array> {
  const row = yield* first('blobs', { hashes: [hash], most: everything })
  if (!row) throw new NotFoundError('blob', hash)
  return row.data
}

/** Removes the blob references of a range, and the blobs that nothing else refers to. */
export function* dropBlobs(span: ParamsOf<'deleteBlobRefs'>): Program<void> {
  const hashes = (yield* all('blobsBetween', span)).map(row => row.hash)
  if (hashes.length === 0) return
  yield* run('deleteBlobRefs', span)
  yield* run('deleteLooseBlobs', { hashes })
}
