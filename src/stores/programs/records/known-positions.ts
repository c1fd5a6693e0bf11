import type { ConversationId, MessageId } from '../../../core/ids.ts'
import type { StoreRecord } from '../../../core/record.ts'
import { all, type Program } from '../../engine/engine.ts'
import { blobsOf, bury, type RecordTarget, type RecordWrite } from './record-write.ts'

/** Reads what the store knows of the messages that records name, in one statement each. The result is valid
 *  for locked conversations. For one that another process has just created, it is read again. */

export function* readKnownPositions(
  places: RecordWrite['places'],
  records: readonly StoreRecord[],
): Program<void> {
  const named = new Set<MessageId>()
  for (const record of records) for (const id of namesOf(record)) if (id !== null) named.add(id)
  const ids = [...named]
  // Also for no ids: conversations are locked together with this statement.
  for (const row of yield* all('locateAll', { ids })) places.set(row.id as MessageId, row)
}

/** Tombstones and turns. */
export function* readKnownParts(target: RecordTarget, records: readonly StoreRecord[]): Program<void> {
  const { conv } = target
  const ids = spotsIn(records, target.id)
  if (ids.length > 0) for (const { seq, id } of yield* all('buried', { conv, ids })) bury(target, id, seq)
  const keys = records.flatMap(record =>
    record.kind === 'turn' && record.conversationId === target.id ? [record.key] : [],
  )
  if (keys.length > 0)
    for (const row of yield* all('turnsByKeys', { conv, keys: [...new Set(keys)] }))
      target.turns.set(row.key, row)
}

/** Locks the stored blobs, so that they are not removed before the transaction ends. */
export function* lockKnownBlobs(kept: RecordWrite['kept'], records: readonly StoreRecord[]): Program<void> {
  const named = records.flatMap(record => (record.kind === 'blob' ? [record.hash] : blobsOf(record)))
  const hashes = [...new Set(named)].sort()
  if (hashes.length === 0) return
  for (const { hash, size } of yield* all('keepBlobs', { hashes })) kept.set(hash, size)
}

/** The messages that a record names. */
function namesOf(record: StoreRecord): (MessageId | null)[] {
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

/** The named messages that may be tombstones. */
function spotsIn(records: readonly StoreRecord[], id: ConversationId): string[] {
  const ids = records.flatMap(record => {
    if (record.kind !== 'tombstone' && record.kind !== 'turn') return []
    return record.conversationId === id ? namesOf(record) : []
  })
  return [...new Set(ids.filter(one => one !== null))]
}
