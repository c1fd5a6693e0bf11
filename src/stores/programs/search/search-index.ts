import { blobSizesIn } from '../../../core/body.ts'
import type { Stepwise } from '../../../core/large/stepwise.ts'
import { readBody } from '../../../core/read-body.ts'
import { pairName } from '../../../core/search/pairs.ts'
import { textsOf } from '../../../core/search/texts.ts'
import { indexTokensInSteps } from '../../../core/search/tokenize.ts'
import { all, first, indexForms, type Program, run } from '../../engine/engine.ts'
import type { Conv, IndexMark, MessageSpan, SpanRow, UnindexedRow } from '../../engine/rows.ts'
import { type BlobLoader, laterBlobs, loadBlobs, type WithBody } from '../content.ts'

/** Bytes of a blob to index. The tokenizer reads no more of a text. */
const indexedBytes = 262_144

/** Tokens for the properties of a message, in addition to its texts. No word of a text contains `=`. */
export const scopes = {
  everything: '=all',
  role: (role: string) => `=r${role}`,
  conversation: (conv: Conv) => `=c${conv}`,
}

/** The progress of a pass over all conversations. */
export interface IndexPass {
  /** The last conversation that is done. */
  readonly after: Conv | null
  /** The seq at which the pass ends in each conversation, so that a concurrent writer cannot keep it busy.
   *  Null: where the conversation ends. */
  readonly ends: ReadonlyMap<Conv, number> | null
}

export const endlessPass: IndexPass = { after: null, ends: null }

/** How much to index at once: at most this many messages, until their texts have this many characters. */
export interface BatchSize {
  readonly messages: number
  readonly chars: number
}

/** A mark to set, and how many messages were read for it. */
interface BatchMark extends IndexMark {
  readonly messages: number
}

/** Messages above the marks, and the marks to set with their entries. */
export interface IndexBatch {
  readonly marks: readonly BatchMark[]
  readonly messages: readonly BatchMessage[]
  /** The messages that were read, including those without a text. */
  readonly count: number
  readonly chars: number
  /** Where to continue, or null at the end. */
  readonly next: IndexPass | null
}

/** A message of a batch, with its texts. */
interface BatchMessage extends Pick<SpanRow, 'conv' | 'seq' | 'at' | 'role'> {
  readonly texts: readonly string[]
}

/** What the index stores of a message. */
export interface IndexEntry {
  readonly conv: Conv
  readonly seq: number
  readonly at: number
  /** Separated by spaces, each one once. */
  readonly tokens: string
  /** The numbers of adjacent tokens, or none if they are among the tokens. */
  readonly pairs: readonly number[]
}

/** Reads the texts of the next messages above the marks. */
export function* readBatch(pass: IndexPass, size: BatchSize): Program<IndexBatch> {
  const { ends } = pass
  const found = yield* all('unindexed', { after: pass.after, limit: size.messages })
  const spans: (MessageSpan & { readonly isWhole: boolean })[] = []
  let left = size.messages
  for (const { conv, indexed_seq: lo, next_seq } of found) {
    const end = ends === null ? next_seq : (ends.get(conv) ?? lo)
    const hi = Math.min(end, lo + left) - 1
    spans.push({ conv, lo, hi, isWhole: hi === end - 1 || end <= lo })
    left -= Math.max(0, hi - lo + 1)
    if (left === 0) break
  }
  const rows = Map.groupBy(yield* all('messagesIn', { spans }), row => row.conv)
  const marks: BatchMark[] = []
  const messages: BatchMessage[] = []
  let count = 0
  let chars = 0
  let { after } = pass
  for (const { conv, lo, hi, isWhole } of spans) {
    let mark = lo
    const before = count
    for (const row of (rows.get(conv) ?? []).toSorted((a, b) => a.seq - b.seq)) {
      if (chars >= size.chars) break
      const [texts = null] = yield* readTexts([row])
      if (texts) {
        messages.push({ conv, seq: row.seq, at: row.at, role: row.role, texts })
        for (const text of texts) chars += text.length
      }
      mark = row.seq + 1
      count++
    }
    const isStopped = chars >= size.chars
    if (!isStopped) mark = Math.max(lo, hi + 1)
    if (mark > lo) marks.push({ conv, seq_from: lo, seq_to: mark, messages: count - before })
    if (isStopped || !isWhole) return { marks, messages, count, chars, next: { after, ends } }
    after = conv
  }
  const isEnd = spans.length === found.length && found.length < size.messages
  return { marks, messages, count, chars, next: isEnd ? null : { after, ends } }
}

/** Makes the entries of a batch, for an index of this form. */
export function* makeEntries({ messages }: IndexBatch, form?: number): Stepwise<IndexEntry[]> {
  const entries: IndexEntry[] = []
  const hasNumbers = form === indexForms.pairNumbers
  for (const { conv, seq, at, role, texts } of messages) {
    const marks = [scopes.everything, scopes.role(role), scopes.conversation(conv)]
    const { tokens, pairs } = yield* indexTokensInSteps(texts)
    const named = hasNumbers ? [] : Array.from(pairs, pairName)
    const text = [...marks, ...tokens, ...named].join(' ')
    entries.push({ conv, seq, at, tokens: text, pairs: hasNumbers ? [...pairs] : [] })
  }
  return entries
}

/** Writes the entries of a batch, and returns the marks of the conversations that are left out: another
 *  process has indexed them since they were read, or has locked them. Texts are read before, outside of this
 *  transaction: messages that were erased or deleted since then get no entry. */
export function* writeBatch(
  { marks }: IndexBatch,
  entries: readonly IndexEntry[],
): Program<readonly BatchMark[]> {
  // Locks the conversations. Messages erased or deleted from here on are removed from the index again.
  const ours = new Set((yield* all('markIndexed', { marks })).map(({ conv }) => conv))
  for (const entry of entries) if (ours.has(entry.conv)) yield* run('putSearchEntry', entry)
  return marks.filter(({ conv }) => !ours.has(conv))
}

/** Where to continue after a batch without some of its conversations. A pass does not stay at one that is
 *  left out, which may be locked for long. */
export function passAfter({ marks, next }: IndexBatch, leftOut: readonly BatchMark[]): IndexPass | null {
  const last = marks.at(-1)
  return next && last && leftOut.includes(last) ? { ...next, after: last.conv } : next
}

const countedAtOnce = 2_000

export interface UnindexedPage {
  readonly conversations: readonly UnindexedRow[]
  readonly isLast: boolean
}

/** Conversations with unindexed messages. */
export function* unindexedAfter(after: Conv | null): Program<UnindexedPage> {
  const conversations = yield* all('unindexed', { after, limit: countedAtOnce })
  return { conversations, isLast: conversations.length < countedAtOnce }
}

/** How many bytes of blobs have to be read for the texts of a message. Null if it has no blobs. */
export function blobBytesOf({ body }: WithBody): number | null {
  const sizes = blobSizesIn(body ?? '')
  return sizes.length === 0 ? null : sizes.reduce((sum, size) => sum + Math.min(size, indexedBytes), 0)
}

/** The texts of a message without blobs, or null if it was erased or cannot be read. */
export function textsInRow(row: WithBody): string[] | null {
  return textsWith([row], noBlob)[0]!
}

/** The loader where no blob has been read. */
export function noBlob(hash: string): never {
  throw new Error(`blob ${hash} was not read`)
}

/** The texts of each message, or null if it was erased or cannot be read. */
export function* readTexts(rows: readonly WithBody[]): Program<(string[] | null)[]> {
  return textsWith(rows, yield* loadBlobs(rows, indexedBytes))
}

/** The same, with blobs that are read together with the next statement, which must follow. */
export function* laterTexts(rows: readonly WithBody[]): Program<() => Program<(string[] | null)[]>> {
  const blobs = yield* laterBlobs(rows, indexedBytes)
  return function* () {
    return textsWith(rows, yield* blobs())
  }
}

function textsWith(rows: readonly WithBody[], loadBlob: BlobLoader): (string[] | null)[] {
  return rows.map(({ body }) => {
    if (body === null) return null
    try {
      return textsOf(readBody(body, loadBlob, 'beginnings').blocks)
    } catch {
      // `verify` reports damage. A search must still find everything else.
      return null
    }
  })
}

export function* tidyIndex(): Program<void> {
  yield* run('tidyIndex', {})
}

/** In how many parts a search looks up each word. */
export function* countIndexParts(): Program<number> {
  return (yield* first('indexParts', {}))?.parts ?? 1
}

export function* clearIndex(): Program<void> {
  yield* run('clearSearch', {})
  yield* run('resetIndexed', {})
}
