import type { Database } from 'better-sqlite3'
import { blobHashesIn } from '../../../core/body.ts'
import { checkName } from '../../../core/check.ts'
import { hashMessage } from '../../../core/hash.ts'
import type { ConversationId, MessageId } from '../../../core/ids.ts'
import type { MessageRecord, StoreRecord } from '../../../core/record.ts'
import { mostTokens } from '../../../core/tokens.ts'
import type { BlobShelf } from './blob-shelf.ts'
import { mendRow, type Substitutes } from './mend-row.ts'
import { attempt, readDoubtful, rowsFromBothEnds } from './readable-rows.ts'
import { vouchFor } from './vouch-for.ts'

/** A part of a conversation that could not be copied unchanged. */
export interface RecoverLoss {
  readonly conversation: string
  /** Null if the id cannot be read either. */
  readonly message: string | null
  readonly seq: number | null
  /** `lost`: the message is not in the new store. `emptied`: it is, but without content. `rehung`: it has a
   *  new id, because an ancestor is lost. `other`: something else of the conversation. */
  readonly kind: 'lost' | 'emptied' | 'rehung' | 'other'
  readonly what: string
  /** The new id of a rehung message. */
  readonly now: string | null
}

interface Row {
  readonly n: number
  readonly seq: number
  readonly parent_seq: number
  readonly id: string
  readonly role: string
  readonly at: number
  readonly tokens: number
  readonly path_tokens: number
  readonly turn: number | null
  readonly step: number | null
  readonly label: string | null
  readonly body_hash: Uint8Array
}

/** Where messages of the damaged file are in the new store. */
export interface KeptMessages {
  /** The new id of a message that a row names by its old seq and its old id. The id decides, because it is a
   *  hash: if it is wrong, no message has it. A lost message is replaced by its nearest kept ancestor. */
  named(seq: number, id: string | null): MessageId | null
  /** The seq of the last message of a turn: the last one that names the turn, unless the turn names a later
   *  one that was deleted. */
  lastOfTurn(turn: { readonly first: number; readonly last: number }): number
  /** The id of the message or tombstone at exactly this seq, or null if it is lost. */
  exactlyAt(seq: number): MessageId | null
  /** Whether a message still has this id. */
  hasId(id: string): boolean
  readonly newest: MessageId | null
  readonly count: number
}

/** A lost message whose seq, and perhaps id, an index knows. */
export interface LostMessage {
  readonly seq: number
  readonly id: string | null
}

export interface MessageSource {
  readonly db: Database
  readonly conv: number
  /** The seqs of the first messages of all readable turns. */
  readonly turns: ReadonlySet<number>
  /** Messages that cannot be read, but that an index knows. */
  readonly lost: readonly LostMessage[]
  readonly blobs: BlobShelf
  readonly now: number
}

interface Words {
  readonly body: unknown
  readonly erased: string | null
}

/** The messages of a conversation that are verified by their ids, as records in an order in which they can
 *  be written, each blob before its message. */
export function* recoverMessages(
  { db, conv, turns, lost, blobs, now }: MessageSource,
  conversation: ConversationId,
  keys: readonly number[],
  onLoss: (loss: RecoverLoss) => void,
): Generator<StoreRecord, KeptMessages> {
  const facts = db.prepare(
    `SELECT n, seq, parent_seq, id, role, at, tokens, path_tokens, turn, step, label, body_hash
     FROM skein_messages WHERE n = ?`,
  )
  const words = db.prepare(`SELECT body, erased FROM skein_messages WHERE n = ?`)
  const rows: Row[] = []
  for (const n of keys) {
    let isDoubtful = false
    const doubt = () => {
      isDoubtful = true
    }
    const row = readDoubtful(db, () => facts.get(n) as Row | undefined, doubt)
    if (row && isReadable(row)) {
      rows.push(row)
      if (isDoubtful)
        lose('other', row.id, row.seq, 'it is near damage: its label, turn and token count may be wrong')
    } else lose('lost', null, null, `a message (row ${n}) cannot be read`)
  }
  rows.sort((a, b) => a.seq - b.seq)
  const buried = tombstonesIn(db, conv)
  const buriedIds = new Map(buried.map(({ seq, id }) => [seq, id as MessageId]))
  let nextBuried = 0
  const before = new Map(rows.map(row => [row.seq, row]))
  // By old seq: the original ids, as far as they are known, and the new ids.
  const trueIds = new Map<number, MessageId>()
  for (const { seq, id } of lost) {
    // Only the index is wrong; the message is readable.
    if (before.has(seq)) continue
    if (id !== null) trueIds.set(seq, id as MessageId)
    lose('lost', id, seq, 'the part of the file where it stood cannot be read')
  }
  const newIds = new Map<number, MessageId>()
  // The old seqs of kept messages, by their original ids.
  const seqs = new Map<string, number>()
  // The last kept messages of turns, by the first ones.
  const lastsOf = new Map<number, number>()
  // In order, for binary search.
  const keptSeqs: number[] = []

  for (const row of rows) {
    yield* bury(row.seq)
    const text = readDoubtful(db, () => words.get(row.n) as Words | undefined)
    const body = text === undefined ? undefined : (text.body as string | null)
    const found = {
      ...row,
      bodyHash: Buffer.from(row.body_hash).toString('hex'),
      body: typeof body === 'string' || body === null ? body : undefined,
    }
    const parents = parentsOf(row)
    const ids = parents.map(({ id }) => id)
    const vouched = newIds.has(row.seq) ? null : vouchFor(found, ids)
    if (!vouched) {
      lose('lost', row.id, row.seq, 'nothing vouches for it: its words, or who said it and when, are damaged')
      continue
    }
    trueIds.set(row.seq, vouched.id)
    const erased = typeof body === 'string' ? null : erasureIn(text?.erased ?? null)
    const hashes = vouched.hasWords ? [...new Set(blobHashesIn(body!))] : []
    const isMissing = hashes.some(hash => blobs.isSound(hash) === false)
    const hasWords = vouched.hasWords && !isMissing
    const parentSeq = parents.find(({ id }) => id === vouched.parent)!.seq
    const parentId = parentSeq < 0 ? null : idAt(parentSeq)
    const id = hashMessage(parentId ?? conversation, vouched.role, vouched.at, vouched.bodyHash)
    if (!hasWords && !erased)
      lose('emptied', vouched.id, row.seq, isMissing ? 'its blob is damaged' : 'its words are damaged')
    if (id !== vouched.id) lose('rehung', vouched.id, row.seq, 'a message before it is lost', id)
    newIds.set(row.seq, id)
    seqs.set(vouched.id, row.seq)
    keptSeqs.push(row.seq)
    if (hasWords) for (const hash of hashes) yield { kind: 'blob', hash, data: blobs.read(hash)! }
    const turn = row.turn !== null && turns.has(row.turn) && newIds.has(row.turn) ? row.turn : null
    if (turn !== null) lastsOf.set(turn, row.seq)
    const above = row.parent_seq < 0 ? 0 : before.get(row.parent_seq)?.path_tokens
    if (above !== undefined && row.tokens !== row.path_tokens - above)
      lose('other', id, row.seq, 'its token count may be wrong')
    const label = row.label === null ? null : (attempt(() => checkName(row.label, 'label')) ?? null)
    if (label !== row.label) lose('other', id, row.seq, 'its label cannot be read')
    yield {
      kind: 'message',
      conversationId: conversation,
      seq: row.seq,
      id,
      parentId,
      role: vouched.role,
      at: vouched.at,
      tokens: Math.min(Math.max(0, row.tokens), mostTokens),
      turn: turn === null ? null : newIds.get(turn)!,
      step: turn === null ? null : row.step,
      label,
      bodyHash: vouched.bodyHash,
      body: hasWords ? body! : null,
      erased: hasWords ? null : (erased ?? { at: now, by: 'skein recover', reason: 'damaged' }),
    }
  }
  yield* bury(Number.POSITIVE_INFINITY)
  return {
    named: (seq, id) => {
      const known = id === null ? undefined : seqs.get(id)
      if (known === undefined && seq < 0) return null
      return idAt(known ?? seq)
    },
    lastOfTurn: ({ first, last }) => {
      const kept = lastsOf.get(first) ?? first
      return last > kept && buriedIds.has(last) ? last : kept
    },
    exactlyAt: seq => newIds.get(seq) ?? buriedIds.get(seq) ?? null,
    hasId: id => newIds.get(seqs.get(id) ?? -1) === id,
    newest: [...newIds.values()].at(-1) ?? null,
    count: newIds.size,
  }

  /** The tombstones below a seq that have not been returned yet. */
  function* bury(below: number): Generator<StoreRecord> {
    for (; nextBuried < buried.length && buried[nextBuried]!.seq < below; nextBuried++) {
      const row = buried[nextBuried]!
      const { seq, parent_seq } = row
      const parentId = newIds.get(parent_seq) ?? (parent_seq < seq ? buriedIds.get(parent_seq) : undefined)
      const parent = parentId === undefined ? null : { seq: parent_seq, id: parentId }
      const toRecord = ({ id, at, reason }: Tombstone): StoreRecord => ({
        ...{ kind: 'tombstone', conversationId: conversation, seq, id: id as MessageId, parent, at, reason },
      })
      const substitutes: Substitutes<Tombstone> = { at: [now, 'the time'], reason: [null, 'the reason'] }
      const mended = mendRow(row, substitutes, toRecord, name =>
        lose('other', row.id, seq, `${name} of its deletion cannot be read`),
      )
      if (mended) yield toRecord(mended)
      else lose('other', null, seq, 'a deletion cannot be read')
    }
  }

  /** The possible ids of the parent with their seqs. The conversation's own id comes before all
   *  messages. */
  function parentsOf(row: Row): readonly { readonly seq: number; readonly id: string }[] {
    const root = { seq: -1, id: conversation as string }
    if (row.parent_seq < 0) return [root]
    const seqs = row.parent_seq < row.seq ? [row.parent_seq, row.seq - 1] : [row.seq - 1]
    const known = seqs.flatMap(seq => [
      { seq, id: trueIds.get(seq) as string | undefined },
      { seq, id: before.get(seq)?.id },
    ])
    return [...known.filter((one): one is { seq: number; id: string } => one.id !== undefined), root]
  }

  function idAt(seq: number): MessageId | null {
    // A lost message with a readable parent leads there. Otherwise the nearest message before it is taken.
    for (let at = seq; ; ) {
      const id = newIds.get(at)
      if (id !== undefined) return id
      const parent = before.get(at)?.parent_seq
      if (parent === undefined || parent >= at) {
        const near = nearest(at)
        return near === null ? null : newIds.get(near)!
      }
      if (parent < 0) return null
      at = parent
    }
  }

  /** The highest kept seq up to this one. Binary search, because damage can produce seqs of any size. */
  function nearest(seq: number): number | null {
    let [lo, hi] = [0, keptSeqs.length]
    while (lo < hi) {
      const middle = (lo + hi) >> 1
      if (keptSeqs[middle]! <= seq) lo = middle + 1
      else hi = middle
    }
    return lo === 0 ? null : keptSeqs[lo - 1]!
  }

  function lose(
    kind: RecoverLoss['kind'],
    message: string | null,
    seq: number | null,
    what: string,
    now?: string,
  ): void {
    onLoss({ conversation, message, seq, kind, what, now: now ?? null })
  }
}

interface Tombstone {
  readonly seq: number
  readonly parent_seq: number
  readonly id: string
  readonly at: number
  readonly reason: string | null
}

function tombstonesIn(db: Database, conv: number): readonly Tombstone[] {
  const sql = 'SELECT seq, parent_seq, id, at, reason FROM skein_tombstones WHERE conv = ?'
  return rowsFromBothEnds<Tombstone>(db, sql, ['seq'], [conv]).rows
}

function isReadable(row: Row): boolean {
  return (
    [row.seq, row.parent_seq, row.at, row.tokens].every(Number.isSafeInteger) &&
    [row.turn, row.step].every(value => value === null || Number.isSafeInteger(value)) &&
    typeof row.id === 'string' &&
    typeof row.role === 'string' &&
    row.body_hash instanceof Uint8Array
  )
}

function erasureIn(text: string | null): MessageRecord['erased'] {
  if (text === null) return null
  try {
    const { at, by, reason } = JSON.parse(text) as { at: unknown; by: unknown; reason: unknown }
    return typeof at === 'number' && typeof by === 'string' && typeof reason === 'string'
      ? { at, by, reason }
      : null
  } catch {
    return null
  }
}
