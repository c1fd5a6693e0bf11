import { mkdtempSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setImmediate as giveWay } from 'node:timers/promises'
import BetterSqlite3, { type Database } from 'better-sqlite3'
import { conversationId } from '../../../core/ids.ts'
import type { RecordMover, StoreRecord } from '../../../core/record.ts'
import { type SourcedRecord, takeIn } from '../../../core/take-in.ts'
import { systemSource } from '../../../system/source.ts'
import { belongsTo } from './belongs-to.ts'
import { type BlobShelf, blobShelf } from './blob-shelf.ts'
import { type DamagedConversation, findConversations } from './find-conversations.ts'
import { type MendedSchema, mendSchemaText, replaceLostTables } from './mend-schema-text.ts'
import { mendedCopy } from './mended-copy.ts'
import { attempt, rowKeys, type TableGap } from './readable-rows.ts'
import { type KeptMessages, type LostMessage, type RecoverLoss, recoverMessages } from './recover-messages.ts'
import { readableTurns, recoverConversation, recoverRecords } from './recover-records.ts'
import { recoverTasks } from './recover-tasks.ts'
import { findStrayRows } from './stray-rows.ts'

export type { RecoverLoss } from './recover-messages.ts'

export interface RecoverOptions {
  readonly signal?: AbortSignal
  readonly onLoss?: (loss: RecoverLoss) => void
  readonly onProgress?: (conversations: number, total: number) => void
}

/** What was copied from a damaged file, and what was not. */
export interface RecoverResult {
  readonly conversations: number
  readonly messages: number
  /** Conversations that were copied completely and unchanged. */
  readonly whole: number
  readonly tasks: number
  readonly losses: Readonly<Record<RecoverLoss['kind'], number>>
  /** What had to be repaired before the file could be opened. */
  readonly mended: readonly string[]
  /** Ranges of tables that cannot be read. */
  readonly gaps: readonly TableGap[]
}

/** Copies the intact data of a damaged file into another store, and reports everything else. The file
 *  itself is never written; a temporary copy next to it is. Indexes are not trusted: every message is read
 *  separately and verified by its id. */
export async function recoverFile(
  damaged: string,
  target: Pick<RecordMover, 'writeRecords'>,
  { signal, onLoss, onProgress }: RecoverOptions = {},
): Promise<RecoverResult> {
  const place = mkdtempSync(join(dirname(damaged), '.skein-recover-'))
  try {
    const copy = join(place, 'copy.db')
    const mended = [...mendedCopy(damaged, copy)]
    const { version, isMended } = mendSchema(copy)
    if (isMended) mended.push('the list of tables was damaged: it says again how they are made')
    const db = openDamaged(copy)
    try {
      return { ...(await recoverFrom(db, replaceLostTables(db, version))), mended }
    } finally {
      db.close()
    }
  } finally {
    rmSync(place, { recursive: true, force: true })
  }

  async function recoverFrom(
    db: Database,
    lostTables: readonly string[],
  ): Promise<Omit<RecoverResult, 'mended'>> {
    const gaps: TableGap[] = lostTables.map(table => ({
      table,
      reason: 'could not be found in the file',
    }))
    const losses = { lost: 0, emptied: 0, rehung: 0, other: 0 }
    const onGap = (gap: TableGap) => void gaps.push(gap)
    const messages = await keysByConversation(db, onGap, signal)
    const lost = await lostMessages(db, new Set([...messages.values()].flat()), signal)
    const { kept: conversations, purged } = await findConversations(db, messages, onGap, signal)
    await findStrayRows(db, conv => conversations.has(conv) || purged.has(conv), onGap, signal)
    const blobs = blobShelf(db, onGap)
    await pause(signal)
    let [done, whole, count, tasks] = [0, 0, 0, 0]

    await takeIn(target, records(), {
      ...(signal && { signal }),
      onSpecial: ({ record }, written) => {
        if (written.outcome !== 'refused' || record.kind === 'blob') return
        if (record.kind === 'task') {
          tasks--
          const reason = `task ${JSON.stringify(record.id)}: refused: ${written.reason}`
          return onGap({ table: 'skein_tasks', reason })
        }
        const id = record.kind === 'conversation' ? record.id : record.conversationId
        const message = record.kind === 'message' ? record.id : null
        const kind = record.kind === 'message' ? 'lost' : 'other'
        const seq = 'seq' in record ? record.seq : null
        lose({
          conversation: id,
          message,
          seq,
          kind,
          what: `${record.kind} refused: ${written.reason}`,
          now: null,
        })
      },
    })
    return { conversations: done, messages: count, whole, tasks, losses, gaps }

    async function* records(): AsyncGenerator<SourcedRecord> {
      for (const [conv, found] of conversations) {
        const before = total()
        const keys = messages.get(conv) ?? []
        const source = { keys, lost: lost.get(conv) ?? [], lostTables, blobs, lose }
        const recovering = recoverOne(db, conv, found, source)
        for (let next = recovering.next(); ; next = recovering.next()) {
          if (next.done) {
            count += next.value
            break
          }
          yield { record: next.value, file: '', line: 0 }
        }
        if (total() === before) whole++
        done++
        onProgress?.(done, conversations.size)
        await pause(signal)
      }
      const ids = new Set([...conversations.values()].map(({ id }) => id))
      for (const record of recoverTasks(db, ids, systemSource.now(), onGap)) {
        yield { record, file: '', line: 0 }
        tasks++
      }
      reportTokens(db, onGap)
    }

    function lose(loss: RecoverLoss): void {
      losses[loss.kind]++
      onLoss?.(loss)
    }

    function total(): number {
      return losses.lost + losses.emptied + losses.rehung + losses.other
    }
  }
}

/** Access tokens are not copied: nothing confirms to whom they were given, and what they allow. */
function reportTokens(db: Database, onGap: (gap: TableGap) => void): void {
  const sql = 'SELECT count(*) FROM skein_tokens WHERE revoked_at IS NULL'
  const count = attempt(() => db.prepare(sql).pluck().get() as number) ?? 0
  if (count === 0) return
  const tokens = count === 1 ? '1 access token is' : `${count} access tokens are`
  onGap({ table: 'skein_tokens', reason: `${tokens} not copied. Make new ones: skein token create` })
}

/** Where the parts of a conversation are. */
interface ConversationSource {
  readonly keys: readonly number[]
  readonly lost: readonly LostMessage[]
  readonly lostTables: readonly string[]
  readonly blobs: BlobShelf
  readonly lose: (loss: RecoverLoss) => void
}

/** Recovers a conversation and returns the number of its intact messages. */
function* recoverOne(
  db: Database,
  conv: number,
  found: DamagedConversation,
  { keys, lost, lostTables, blobs, lose }: ConversationSource,
): Generator<StoreRecord, number> {
  const now = systemSource.now()
  const id = found.id ?? conversationId(systemSource.uuid())
  const other = (what: string) =>
    lose({ conversation: id, message: null, seq: null, kind: 'other', what, now: null })
  const record = recoverConversation(db, found.row, id, now, other)
  if (found.id === null) other('its id is lost: this is a new one')
  if (lostTables.length > 0) other(`what stood in ${lostTables.join(', ')} is lost`)
  const turns = readableTurns(db, conv, record, other)
  const firsts = new Set(turns.map(({ first }) => first))
  yield record
  const kept: KeptMessages = yield* recoverMessages(
    { db, conv, turns: firsts, lost, blobs, now },
    id,
    keys,
    lose,
  )
  yield* recoverRecords(db, conv, record, turns, kept, lose)
  return kept.count
}

/** Opens a file even if its list of tables is damaged. */
function openDamaged(path: string): Database {
  const db = new BetterSqlite3(path)
  db.unsafeMode(true)
  db.pragma('writable_schema = ON')
  db.pragma('cell_size_check = ON')
  return db
}

function mendSchema(path: string): MendedSchema {
  const db = openDamaged(path)
  try {
    return mendSchemaText(db)
  } finally {
    db.close()
  }
}

/** Rows to read between two looks at the signal. */
const rowsAtOnce = 2_000

/** Lets signals arrive. Throws if this one is aborted. */
async function pause(signal: AbortSignal | undefined): Promise<void> {
  await giveWay()
  signal?.throwIfAborted()
}

/** The row ids of all readable messages, by the conversation that they name. */
async function keysByConversation(
  db: Database,
  onGap: (gap: TableGap) => void,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<number, readonly number[]>> {
  const byConversation = new Map<number, number[]>()
  const keys = rowKeys(db, 'skein_messages', 'n', onGap)
  if (keys.length === 0) return byConversation
  const owner = db.prepare('SELECT conv FROM skein_messages NOT INDEXED WHERE n = ?').pluck()
  const indexed = ownersByIndex(db)
  for (const [i, n] of keys.entries()) {
    if (i % rowsAtOnce === 0) await pause(signal)
    const said = attempt(() => owner.get(n))
    if (typeof said !== 'number') continue
    const other = indexed.get(n)
    // The table and its index disagree. The one that matches the message's id is right.
    const conv = other !== undefined && other !== said && belongsTo(db, n, other) ? other : said
    const list = byConversation.get(conv)
    if (list) list.push(n)
    else byConversation.set(conv, [n])
  }
  return byConversation
}

/** The conversation of each message, from the index of seqs. */
function ownersByIndex(db: Database): ReadonlyMap<number, number> {
  const sql = 'SELECT n, conv FROM skein_messages INDEXED BY skein_messages_seq'
  const rows = attempt(() => db.prepare(sql).all() as { n: number; conv: number }[]) ?? []
  return new Map(rows.map(({ n, conv }) => [n, conv]))
}

/** Messages that are in an index but not readable in the table, by conversation. */
async function lostMessages(
  db: Database,
  readable: ReadonlySet<number>,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<number, readonly LostMessage[]>> {
  const places = new Map<number, { conv: number; seq: number }>()
  const ids = new Map<number, string>()
  for await (const { n, conv, seq } of indexRows<{ n: number; conv: number; seq: number }>(
    'conv, seq',
    'skein_messages_seq',
  ))
    places.set(n, { conv, seq })
  for await (const { n, id } of indexRows<{ n: number; id: string }>('id', 'skein_messages_id'))
    ids.set(n, id)
  const lost = new Map<number, LostMessage[]>()
  for (const [n, { conv, seq }] of places) {
    lost.set(conv, [...(lost.get(conv) ?? []), { seq, id: ids.get(n) ?? null }])
  }
  return lost

  async function* indexRows<T extends { n: number }>(columns: string, index: string): AsyncGenerator<T> {
    for (const order of ['ASC', 'DESC']) {
      const by = columns.split(', ').map(column => `${column} ${order}`)
      const sql = `SELECT n, ${columns} FROM skein_messages INDEXED BY ${index} ORDER BY ${by.join(', ')}`
      const rows = attempt(() => db.prepare(sql).iterate() as IterableIterator<T>)
      for (let i = 0; ; i++) {
        if (i % rowsAtOnce === 0) await pause(signal)
        const next = attempt(() => rows?.next())
        // Broken off: the rest is read from the other end.
        if (!next) break
        if (next.done) return
        if (!readable.has(next.value.n)) yield next.value
      }
    }
  }
}
