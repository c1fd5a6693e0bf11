import { strict as assert } from 'node:assert'
import type { ConversationId } from '../../core/ids.ts'
import { isNonEmpty } from '../../core/message.ts'
import type { Store } from '../../core/ports.ts'
import type { RecordKind, RecordOutcome, StoreRecord } from '../../core/record.ts'
import { appendTexts, holder, say, summarise } from './build.ts'

/** All records of a conversation. None may be unreadable. */
export async function recordsOf(store: Store, id: ConversationId): Promise<StoreRecord[]> {
  const records: StoreRecord[] = []
  for await (const record of store.readRecords(id)) {
    assert.ok(record.kind !== 'unreadable', `${'what' in record ? record.what : ''} cannot be read`)
    // One engine returns a Buffer, the other a plain array of bytes.
    records.push(record.kind === 'blob' ? { ...record, data: new Uint8Array(record.data) } : record)
  }
  return records
}

/** Writes records and returns their outcomes. */
export async function write(
  store: Store,
  records: readonly StoreRecord[],
): Promise<readonly RecordOutcome[]> {
  assert.ok(isNonEmpty(records))
  return store.writeRecords(records)
}

/** Writes records that must all have this outcome, without a note. */
export async function writeAll(
  store: Store,
  records: readonly StoreRecord[],
  outcome: 'added' | 'present',
): Promise<void> {
  const written = await write(store, records)
  const others = written.flatMap((one, i) =>
    one.outcome === outcome && one.note === null ? [] : [[records[i]!.kind, one]],
  )
  assert.deepEqual(others, [])
}

/** Removes a conversation completely. */
export async function forget(store: Store, id: ConversationId): Promise<void> {
  await store.trash(id)
  assert.ok((await store.purge(id)).purged)
}

/** The first record of a kind. */
export function one<K extends RecordKind>(
  records: readonly StoreRecord[],
  kind: K,
): Extract<StoreRecord, { kind: K }> {
  const found = records.find(record => record.kind === kind)
  assert.ok(found, `there is no ${kind}`)
  return found as Extract<StoreRecord, { kind: K }>
}

export function allOf<K extends RecordKind>(
  records: readonly StoreRecord[],
  kind: K,
): Extract<StoreRecord, { kind: K }>[] {
  return records.filter(record => record.kind === kind) as Extract<StoreRecord, { kind: K }>[]
}

/** A conversation with one of each kind of record. */
export async function fill(store: Store): Promise<ConversationId> {
  const { conversation, branch } = await store.create({
    key: 'kept',
    title: 'One of each',
    prompt: 'Be brief.',
    metadata: { a: 1, b: { c: [null] } },
    tags: ['x', 'y'],
    ttlMs: 86_400_000,
  })
  const { id } = conversation
  const large = 'large '.repeat(4_000)
  const asked = await store.append(branch, null, [say('one'), say(large, 'assistant')], {
    turn: { key: 't1', step: 0, usage: { input: 3, output: 4, cost: 0.25 }, model: 'm' },
  })
  const more = await appendTexts(store, branch, 'two', 'three', 'four')
  const fork = await store.createBranch(id, asked.ids[0], { name: 'fork', title: 'Another way' })
  const forked = await appendTexts(store, fork, 'a', 'b', 'c')
  await store.deleteMessages([forked.ids[1]!], { recursive: true, reason: 'wrong' })
  await store.eraseMessages([more.ids[0]], { by: 'anna', reason: 'private' })
  await summarise(store, id, [asked.ids[0], more.head])
  await store.addEvents(id, [{ type: 'plan', data: { n: 1 } }, { type: 'resume' }])
  await store.setAgentLink(branch, { agent: 'agent', directory: '/d', foreignId: 'f', seen: more.head })
  await store.append(fork, forked.ids[0], [say('open')], {
    turn: { key: 't2', step: 0, status: 'open', holder: holder() },
  })
  await store.putDraft(id, 't2', holder(), [{ n: 0, type: 'text', text: 'half \ud83d' }])
  return id
}
