import { blobHashesIn } from '../../../core/body.ts'
import type { ConversationId, MessageId } from '../../../core/ids.ts'
import type { BlobRecord, MessagePosition, RecordOutcome, StoreRecord } from '../../../core/record.ts'
import type { Conv, LocatedRow, LockRow, TurnRow } from '../../engine/rows.ts'

/** A conversation that is being written, in its state within the transaction. */
export interface RecordTarget {
  readonly conv: Conv
  readonly id: ConversationId
  readonly trashed: boolean
  /** Created by this call. */
  readonly born: boolean
  nextSeq: number
  nextEvent: number
  added: number
  tokens: number
  changed: boolean
  eventsAdded: boolean
  /** Seqs of tombstones by id, of the ids that the call names. */
  readonly buried: Map<string, number[]>
  /** Turns by key, of the keys that the call names. */
  readonly turns: Map<string, TurnRow>
  /** Events by number, or null before they were read. */
  events: Map<number, { readonly type: string; readonly at: number; readonly data: string }> | null
  readonly lastDrafts: Map<string, number>
}

/** What a call knows of the store: read in a few statements, and updated while it writes. */
export interface RecordWrite {
  readonly now: number
  readonly records: readonly StoreRecord[]
  /** Without an entry if the conversation does not exist, `purging` if it is being purged. */
  readonly targets: Map<ConversationId, RecordTarget | 'purging'>
  readonly places: Map<MessageId, LocatedRow>
  /** Blobs that came with this call. */
  readonly blobs: ReadonlyMap<string, BlobRecord>
  /** Sizes of the blobs that the store has. */
  readonly kept: Map<string, number>
  /** Blobs that this call has stored. */
  readonly stored: Set<string>
}

export function recordTarget(row: LockRow, { born }: { readonly born: boolean }): RecordTarget {
  return {
    conv: row.conv,
    id: row.id as ConversationId,
    trashed: row.trashed_at !== null,
    born,
    nextSeq: row.next_seq,
    nextEvent: row.next_event,
    added: 0,
    tokens: 0,
    changed: false,
    eventsAdded: false,
    buried: new Map(),
    turns: new Map(),
    events: null,
    lastDrafts: new Map(),
  }
}

export function bury(target: RecordTarget, id: string, seq: number): void {
  target.buried.set(id, [...(target.buried.get(id) ?? []), seq])
}

/** The seq in this store of a message or tombstone of the source. If the id has several, the seq
 *  decides. */
export function seqOf(move: RecordWrite, target: RecordTarget, spot: MessagePosition): number | null {
  const living = move.places.get(spot.id)
  const seqs = [...(target.buried.get(spot.id) ?? [])]
  if (living?.conversation_id === target.id) seqs.push(living.seq)
  return seqs.includes(spot.seq) ? spot.seq : (seqs.at(-1) ?? null)
}

/** The position of a message of the target, or null. */
export function placeIn(move: RecordWrite, target: RecordTarget, id: MessageId): LocatedRow | null {
  const place = move.places.get(id)
  return place?.conversation_id === target.id ? place : null
}

/** The blobs that a record refers to, each once. */
export function blobsOf(record: StoreRecord): readonly string[] {
  if (record.kind !== 'message' || record.body === null) return none
  const hashes = blobHashesIn(record.body)
  return hashes.length > 1 ? [...new Set(hashes)] : hashes
}

const none: readonly string[] = []

export const added: RecordOutcome = { outcome: 'added', note: null }
export const present: RecordOutcome = { outcome: 'present', note: null }
export const advanced: RecordOutcome = { outcome: 'advanced', note: null }

export function refused(reason: string): RecordOutcome {
  return { outcome: 'refused', reason }
}
