import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { StoredBlob, StoredRecord, Written, WrittenRecord } from '../../core/stored.ts'
import { all, first, type Program, run } from '../engine.ts'
import { putBranch, putLink } from './transfer-branches.ts'
import { outcomeOfBlob, putConversation, putMessage, putTombstone } from './transfer-messages.ts'
import { blobsOf, bury, type Move, refused, type Target, targetOf } from './transfer-move.ts'
import { putDraft, putEvent, putSummary, putTurn } from './transfer-records.ts'

/** A record that has been checked, or why it cannot be taken. */
export type CheckedRecord = { readonly record: StoredRecord } | { readonly fault: string }

/** Takes records in; see `Mover`. */
export function* writeStored(given: readonly CheckedRecord[], now: number): Program<Written> {
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
  const ids = [...new Set(records.flatMap(idsIn))]
  if (ids.length > 0) {
    for (const row of yield* all('locateAll', { ids })) places.set(row.id as MessageId, row)
  }
  for (const [id, target] of targets) {
    if (target !== 'purging') yield* readBuried(target, spotsIn(records, id))
  }
  const blobs = new Map(records.flatMap(record => (record.kind === 'blob' ? [[record.hash, record]] : [])))
  const hashes = [...new Set([...blobs.keys(), ...records.flatMap(blobsOf)])].sort()
  const kept = hashes.length > 0 ? yield* all('keepBlobs', { hashes }) : []
  return {
    now,
    records,
    targets,
    places,
    blobs,
    kept: new Map(kept.map(({ hash, size }) => [hash, size])),
    stored: new Set(),
  }
}

function* readBuried(target: Target, spots: readonly string[]): Program<void> {
  if (spots.length === 0) return
  for (const { seq, id } of yield* all('buried', { conv: target.conv, ids: spots })) bury(target, id, seq)
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

/** The messages that a record names. */
function idsIn(record: StoredRecord): MessageId[] {
  return namesOf(record).filter(id => id !== null)
}

function namesOf(record: StoredRecord): (MessageId | null)[] {
  switch (record.kind) {
    case 'message':
      return [record.id, record.parentId, record.turn]
    case 'tombstone':
      return [record.id, record.parent?.id ?? null]
    case 'turn':
      return [record.first.id, record.last.id]
    case 'summary':
      return [record.first, record.last]
    case 'branch':
      return [record.head]
    case 'agent_link':
      return [record.seen]
    default:
      return []
  }
}

/** What may be a tombstone among the names. */
function spotsIn(records: readonly StoredRecord[], id: ConversationId): string[] {
  const ids = records.flatMap(record => {
    if (record.kind !== 'tombstone' && record.kind !== 'turn') return []
    return record.conversationId === id ? idsIn(record) : []
  })
  return [...new Set(ids)]
}
