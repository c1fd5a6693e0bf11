import type { Database } from 'better-sqlite3'
import { hashMessage } from '../../../core/hash.ts'
import type { ConversationId, MessageId } from '../../../core/ids.ts'
import type { Role } from '../../../core/message.ts'
import { attempt } from './readable-rows.ts'

interface OwnRow {
  readonly parent_seq: number
  readonly id: string
  readonly role: string
  readonly at: number
  readonly body_hash: Uint8Array
}

/** Whether a message's id is correct in a conversation, given the id at its parent's seq there. */
export function belongsTo(db: Database, n: number, conv: number): boolean {
  return attempt(() => isIn(db, n, conv)) ?? false
}

/** Whether one of these messages is a root whose id is correct in a conversation with this id. */
export function isRootOf(db: Database, id: ConversationId, keys: readonly number[]): boolean {
  return keys.some(n => {
    const row = attempt(() => ownRow(db, n))
    return row !== undefined && row.parent_seq < 0 && idBelow(id, row) === row.id
  })
}

function isIn(db: Database, n: number, conv: number): boolean {
  const row = ownRow(db, n)
  if (!row) return false
  const parent =
    row.parent_seq < 0
      ? db.prepare('SELECT id FROM skein_conversations WHERE c = ?').pluck().get(conv)
      : db
          .prepare('SELECT id FROM skein_messages INDEXED BY skein_messages_seq WHERE conv = ? AND seq = ?')
          .pluck()
          .get(conv, row.parent_seq)
  return typeof parent === 'string' && idBelow(parent as MessageId | ConversationId, row) === row.id
}

function ownRow(db: Database, n: number): OwnRow | undefined {
  const sql = 'SELECT parent_seq, id, role, at, body_hash FROM skein_messages NOT INDEXED WHERE n = ?'
  return db.prepare(sql).get(n) as OwnRow | undefined
}

function idBelow(parent: MessageId | ConversationId, { role, at, body_hash }: OwnRow): MessageId {
  return hashMessage(parent, role as Role, at, Buffer.from(body_hash).toString('hex'))
}
