import { checkNonEmpty } from '../../../core/check.ts'
import { InvalidError } from '../../../core/errors.ts'
import type { ConversationId } from '../../../core/ids.ts'
import type { BlobRecord, RecordOutcome, RecordOutcomes, StoreRecord } from '../../../core/record.ts'
import { checkRecord } from '../../check/record.ts'
import { later, type Program, run } from '../../engine/engine.ts'
import type { LockRow } from '../../engine/rows.ts'
import { mostInRow, storedValues } from '../blob-parts.ts'
import { putBranchRecord, putLinkRecord } from './branches.ts'
import { lockKnownBlobs, readKnownParts, readKnownPositions } from './known-positions.ts'
import { blobOutcome, putConversationRecord, putMessageRecord, putTombstoneRecord } from './messages.ts'
import { type RecordTarget, type RecordWrite, recordTarget, refused } from './record-write.ts'
import { putTaskRecord } from './tasks.ts'
import { putDraftRecord, putEventRecord, putSummaryRecord, putTurnRecord } from './turns-summaries-events.ts'

/** A record that has been checked, or the reason why it is refused. */
type CheckedRecord = { readonly record: StoreRecord } | { readonly fault: string }

/** Checks records before an engine sees them. A refused record does not affect the others. */
export function checkRecords(records: readonly StoreRecord[]): readonly CheckedRecord[] {
  checkNonEmpty(records, 'records')
  return records.map((record): CheckedRecord => {
    try {
      return { record: checkRecord(record) }
    } catch (error) {
      if (error instanceof InvalidError) return { fault: error.message }
      throw error
    }
  })
}

/** The parts of the large blobs among records. */
export function partsIn(given: readonly CheckedRecord[]): readonly Uint8Array[] {
  return given.flatMap(one => {
    if (!('record' in one) || one.record.kind !== 'blob' || one.record.data.length <= mostInRow) return []
    return storedValues(one.record.data)
  })
}

/** Writes records. See `RecordMover`. */
export function* writeRecords(given: readonly CheckedRecord[], now: number): Program<RecordOutcomes> {
  const records = given.flatMap(one => ('record' in one ? [one.record] : []))
  const move = yield* prepare(records, now)
  const outcomes: (RecordOutcome | BlobRecord)[] = []
  for (const one of given) {
    if ('fault' in one) outcomes.push(refused(one.fault))
    else if (one.record.kind === 'blob') outcomes.push(one.record)
    else outcomes.push(yield* put(move, one.record))
  }
  for (const target of move.targets.values()) if (target !== 'purging') yield* finish(target)
  // Only now is it known which messages were stored.
  return outcomes.map(outcome => ('kind' in outcome ? blobOutcome(move, outcome) : outcome))
}

function* prepare(records: readonly StoreRecord[], now: number): Program<RecordWrite> {
  const targets: RecordWrite['targets'] = new Map()
  // In a fixed order, so that concurrent callers do not deadlock.
  const ids = [...new Set(records.flatMap(conversationOf))].sort()
  const locked: (() => readonly LockRow[])[] = []
  for (const id of ids) locked.push(yield* later('lockConversation', { id }))
  const places: RecordWrite['places'] = new Map()
  yield* readKnownPositions(places, records)
  for (const [i, id] of ids.entries()) {
    const [row] = locked[i]!()
    if (row) targets.set(id, row.purging === 1 ? 'purging' : recordTarget(row, { born: false }))
  }
  for (const target of targets.values()) if (target !== 'purging') yield* readKnownParts(target, records)
  const kept: RecordWrite['kept'] = new Map()
  yield* lockKnownBlobs(kept, records)
  const blobs = new Map(records.flatMap(record => (record.kind === 'blob' ? [[record.hash, record]] : [])))
  return {
    now,
    records,
    targets,
    places,
    blobs,
    kept,
    stored: new Set(),
  }
}

function* put(move: RecordWrite, record: Exclude<StoreRecord, BlobRecord>): Program<RecordOutcome> {
  if (record.kind === 'conversation') return yield* putConversationRecord(move, record)
  if (record.kind === 'task') return yield* putTaskRecord(record)
  const target = move.targets.get(record.conversationId)
  if (!target) return refused(`its conversation ${record.conversationId} is missing`)
  if (target === 'purging') return refused(`conversation ${record.conversationId} is being removed for good`)
  switch (record.kind) {
    case 'message':
      return yield* putMessageRecord(move, target, record)
    case 'tombstone':
      return yield* putTombstoneRecord(move, target, record)
    case 'turn':
      return yield* putTurnRecord(move, target, record)
    case 'draft':
      return yield* putDraftRecord(target, record)
    case 'summary':
      return yield* putSummaryRecord(move, target, record)
    case 'event':
      return yield* putEventRecord(move, target, record)
    case 'branch':
      return yield* putBranchRecord(move, target, record)
    case 'agent_link':
      return yield* putLinkRecord(move, target, record)
    default:
      return record satisfies never
  }
}

function* finish(target: RecordTarget): Program<void> {
  const { conv, nextSeq, nextEvent, added, tokens } = target
  if (target.eventsAdded) yield* run('setNextEvent', { conv, next_event: nextEvent })
  if (target.changed) yield* run('growByRecords', { conv, next_seq: nextSeq, added, tokens })
}

function conversationOf(record: StoreRecord): ConversationId[] {
  if (record.kind === 'blob' || record.kind === 'task') return []
  return [record.kind === 'conversation' ? record.id : record.conversationId]
}
