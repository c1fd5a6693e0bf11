import { checkNonEmpty } from '../../../core/check.ts'
import { InvalidError } from '../../../core/errors.ts'
import type { ConversationId } from '../../../core/ids.ts'
import type { NonEmpty } from '../../../core/message.ts'
import type { StoredBlob, StoredRecord, Written, WrittenRecord } from '../../../core/record.ts'
import { checkStored } from '../../check/record.ts'
import { first, type Program, run } from '../../engine/engine.ts'
import { putBranch, putLink } from './branches.ts'
import { readBuried, readKept, readPlaces } from './known.ts'
import { outcomeOfBlob, putConversation, putMessage, putTombstone } from './messages.ts'
import { type Move, refused, type Target, targetOf } from './move.ts'
import { putDraft, putEvent, putSummary, putTurn } from './turns-summaries-events.ts'

/** A record that has been checked, or the reason why it is refused. */
type CheckedRecord = { readonly record: StoredRecord } | { readonly fault: string }

/** Checks records before anything is asked of an engine. A record that is refused does not keep the others out. */
export function checkRecords(records: NonEmpty<StoredRecord>): readonly CheckedRecord[] {
  checkNonEmpty(records, 'records')
  return records.map((record): CheckedRecord => {
    try {
      return { record: checkStored(record) }
    } catch (error) {
      if (error instanceof InvalidError) return { fault: error.message }
      throw error
    }
  })
}

/** Takes records in; see `Mover`. */
export function* writeRecords(given: readonly CheckedRecord[], now: number): Program<Written> {
  const records = given.flatMap(one => ('record' in one ? [one.record] : []))
  const move = yield* prepare(records, now)
  const outcomes: (WrittenRecord | StoredBlob)[] = []
  for (const one of given) {
    if ('fault' in one) outcomes.push(refused(one.fault))
    else if (one.record.kind === 'blob') outcomes.push(one.record)
    else outcomes.push(yield* put(move, one.record))
  }
  for (const target of move.targets.values()) if (target !== 'purging') yield* finish(target)
  // Only now is it known which messages were taken.
  return outcomes.map(outcome => ('kind' in outcome ? outcomeOfBlob(move, outcome) : outcome))
}

function* prepare(records: readonly StoredRecord[], now: number): Program<Move> {
  const targets: Move['targets'] = new Map()
  // In one order, so that two callers do not wait for each other.
  for (const id of [...new Set(records.flatMap(conversationOf))].sort()) {
    const row = yield* first('lockConversation', { id })
    if (row) targets.set(id, row.purging === 1 ? 'purging' : targetOf(row, { born: false }))
  }
  const places: Move['places'] = new Map()
  yield* readPlaces(places, records)
  for (const target of targets.values()) if (target !== 'purging') yield* readBuried(target, records)
  const kept: Move['kept'] = new Map()
  yield* readKept(kept, records)
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

function* put(move: Move, record: Exclude<StoredRecord, StoredBlob>): Program<WrittenRecord> {
  if (record.kind === 'conversation') return yield* putConversation(move, record)
  const target = move.targets.get(record.conversationId)
  if (!target) return refused(`its conversation ${record.conversationId} is missing`)
  if (target === 'purging') return refused(`conversation ${record.conversationId} is being removed for good`)
  switch (record.kind) {
    case 'message':
      return yield* putMessage(move, target, record)
    case 'tombstone':
      return yield* putTombstone(move, target, record)
    case 'turn':
      return yield* putTurn(move, target, record)
    case 'draft':
      return yield* putDraft(target, record)
    case 'summary':
      return yield* putSummary(move, target, record)
    case 'event':
      return yield* putEvent(move, target, record)
    case 'branch':
      return yield* putBranch(move, target, record)
    case 'agent_link':
      return yield* putLink(move, target, record)
    default:
      return record satisfies never
  }
}

function* finish(target: Target): Program<void> {
  const { conv, nextSeq, nextEvent, added, tokens } = target
  if (target.eventsAdded) yield* run('setNextEvent', { conv, next_event: nextEvent })
  if (target.changed) yield* run('growStored', { conv, next_seq: nextSeq, added, tokens })
}

function conversationOf(record: StoredRecord): ConversationId[] {
  if (record.kind === 'blob') return []
  return [record.kind === 'conversation' ? record.id : record.conversationId]
}
