import { isDeepStrictEqual } from 'node:util'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { Store } from '../../src/core/ports.ts'
import type { StoreRecord } from '../../src/core/record.ts'
import { type SourcedRecord, takeIn } from '../../src/core/take-in.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { fillWithEverything, steadySource } from '../stores/everything.ts'
import { size } from './size.ts'

/** The imported data: one record of each kind, and a conversation that needs several transactions. */
interface Load {
  readonly ids: readonly ConversationId[]
  readonly records: readonly StoreRecord[]
}

const longOne = size({ gate: 1_500, full: 2_500 })

let made: Promise<Load> | undefined

/** The same in every run, including its hashes. */
function load(): Promise<Load> {
  made ??= makeLoad()
  return made
}

async function makeLoad(): Promise<Load> {
  await using store = await openSqliteStore(':memory:', { source: steadySource(), indexing: 'manual' })
  const { branch, conversation } = await store.create({ title: 'A long one' })
  let head: MessageId | null = null
  for (let n = 0; n < longOne; n += 500) {
    const messages = Array.from({ length: 500 }, (_, i): NewMessage => {
      return { role: i % 2 === 0 ? 'user' : 'assistant', content: `message ${n + i}` }
    })
    head = (await store.append(branch, head, messages)).head
  }
  const { ids: others } = await fillWithEverything(store)
  const ids = [conversation.id, ...others]
  return { ids, records: await recordsOf(store, ids) }
}

async function recordsOf(store: Store, ids: readonly ConversationId[]): Promise<StoreRecord[]> {
  const records: StoreRecord[] = []
  for (const id of ids) {
    for await (const record of store.readRecords(id)) {
      if (record.kind === 'unreadable') throw new Error(`${record.what}: ${record.reason}`)
      records.push(record.kind === 'blob' ? { ...record, data: Buffer.from(record.data) } : record)
    }
  }
  return records
}

/** Imports everything, as the command does; existing records are left unchanged. */
export async function importAll(store: Store, arm: () => void): Promise<void> {
  const { records } = await load()
  arm()
  const { refused } = await takeIn(store, stream(records))
  if (Object.keys(refused).length > 0) throw new Error(`refused: ${JSON.stringify(refused)}`)
}

async function* stream(records: readonly StoreRecord[]): AsyncIterable<SourcedRecord> {
  for (const [line, record] of records.entries()) yield { record, file: 'load', line }
}

/** Nothing, everything, or a part in which every message is intact. */
export async function lookAtImport(store: Store): Promise<string> {
  const { ids, records } = await load()
  const there: ConversationId[] = []
  for (const id of ids) {
    const found = await store.getConversation(id).catch(error => {
      if (error.code !== 'not_found') throw error
    })
    if (found) there.push(id)
  }
  if (there.length === 0) return 'nothing'
  const stored = await recordsOf(store, there)
  if (isDeepStrictEqual(stored, records)) return 'all'
  const known = new Map(records.flatMap(one => (one.kind === 'message' ? [[one.id, one] as const] : [])))
  const strange = stored.filter(one => one.kind === 'message' && !isDeepStrictEqual(one, known.get(one.id)))
  return strange.length === 0 ? 'part' : `${strange.length} messages are not what was imported`
}
