import { previewBytes } from '../../../core/body.ts'
import type { ConversationKind } from '../../../core/conversation.ts'
import type { ConversationId } from '../../../core/ids.ts'
import type { SearchHit, SearchOptions } from '../../../core/listing.ts'
import type { SearchQuery } from '../../../core/search/query.ts'
import { cutSnippet } from '../../../core/search/snippet.ts'
import { all, later, type Program } from '../../engine/engine.ts'
import type { CandidateRow, Conv, FoundRow } from '../../engine/rows.ts'
import { type BlobLoader, laterBlobs, looseMessages } from '../content.ts'
import { laterTexts, noBlob } from './search-index.ts'

/** A message that matches a search, or may match it. */
export interface SearchAnswer {
  readonly row: CandidateRow
  /** Null if they are in blobs that have not been read. */
  readonly texts: readonly string[] | null
  /** Whether it matches whatever its texts are: the index has decided, or the texts have. */
  readonly isSure: boolean
}

/** What to show of messages that were found. */
export interface FoundDetails {
  /** The texts of those that had none. */
  readonly texts: ReadonlyMap<CandidateRow, readonly string[] | null>
  /** By place. */
  readonly rows: ReadonlyMap<string, FoundRow>
  readonly branches: ReadonlyMap<string, readonly string[]>
  readonly loadBlob: BlobLoader
}

/** Reads what to show of messages, and the texts that have not been read. */
export function* readDetails(answers: readonly SearchAnswer[]): Program<FoundDetails> {
  if (answers.length === 0)
    return { texts: new Map(), rows: new Map(), branches: new Map(), loadBlob: noBlob }
  const places = answers.map(({ row: { conv, seq } }) => ({ conv, seq }))
  const foundRows = yield* later('foundMessages', { places })
  // A body does not change, so its blobs are known before it is read again.
  const blobs = yield* laterBlobs(
    answers.map(({ row }) => row),
    previewBytes,
  )
  const unread = answers.filter(({ texts }) => texts === null).map(({ row }) => row)
  const textsLater = yield* laterTexts(unread)
  const holding = yield* all('branchesHolding', { places })
  const rows = new Map(foundRows().map(row => [placeKey(row), row]))
  const loadBlob = yield* blobs()
  const texts = new Map((yield* textsLater()).map((said, i) => [unread[i]!, said]))
  const branches = new Map<string, string[]>()
  for (const { conv, seq, name } of holding) {
    const key = placeKey({ conv, seq })
    branches.set(key, [...(branches.get(key) ?? []), name])
  }
  return { texts, rows, branches, loadBlob }
}

/** What to show of an answer. Null for a message that was erased or deleted meanwhile. */
export function hitOf(
  { row: { conv, seq }, texts }: SearchAnswer,
  { rows, branches, loadBlob }: FoundDetails,
  query: SearchQuery,
  options: SearchOptions,
): SearchHit | null {
  const key = placeKey({ conv, seq })
  const row = rows.get(key)
  if (!row || row.body === null) return null
  const [message] = looseMessages([row], loadBlob)
  return {
    message: message!,
    conversation: {
      id: row.conversation_id as ConversationId,
      title: row.title,
      kind: row.kind as ConversationKind,
      directory: row.directory,
      channel: row.channel,
    },
    branches: branches.get(key) ?? [],
    snippet: cutSnippet(texts ?? [], query, options.snippetLength),
  }
}

/** Identifies a message within a store. */
export function placeKey({ conv, seq }: { readonly conv: Conv; readonly seq: number }): string {
  return `${conv} ${seq}`
}
