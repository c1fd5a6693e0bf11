import { blobHashesIn, type LoadedBlob, previewBytes } from '../../core/body.ts'
import { NotFoundError } from '../../core/errors.ts'
import type { Message } from '../../core/message.ts'
import { all, first, type Program, run } from '../engine/engine.ts'
import { messageFromRow } from '../engine/row-to-value.ts'
import type { LooseMessageRow, PathRow } from '../engine/rows.ts'
import type { ParamsOf } from '../engine/statements.ts'

/** Longer than any blob. */
const everything = 2 ** 31 - 1

/** Converts rows that contain their own conversation and parent to messages. */
export function* readLoose(rows: readonly LooseMessageRow[], mode: 'whole' | 'preview'): Program<Message[]> {
  const loadBlob = yield* loadBlobs(rows, mode === 'preview' ? previewBytes : everything)
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

/** Loads the beginnings of the blobs that the bodies refer to. */
export function loadPreviews(
  rows: readonly { readonly body: string | null }[],
): Program<(hash: string) => LoadedBlob> {
  return loadBlobs(rows, previewBytes)
}

/** Loads the blobs that the bodies refer to, the first `most` bytes of each, in one statement. */
export function* loadBlobs(
  rows: readonly { readonly body: string | null }[],
  most: number,
): Program<(hash: string) => LoadedBlob> {
  const hashes = new Set<string>()
  for (const { body } of rows) {
    if (body !== null) for (const hash of blobHashesIn(body)) hashes.add(hash)
  }
  const loaded = new Map<string, LoadedBlob>()
  if (hashes.size > 0) {
    for (const { hash, size, data } of yield* all('blobs', { hashes: [...hashes], most })) {
      loaded.set(hash, { data, bytes: size })
    }
  }
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
