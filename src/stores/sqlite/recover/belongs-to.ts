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

function isIn(db: Database, n: number, conv: number): boolean {
  const row = db
    .prepare('SELECT parent_seq, id, role, at, body_hash FROM skein_messages NOT INDEXED WHERE n = ?')
    .get(n) as OwnRow | undefined
  if (!row) return false
  const parent =
    row.parent_seq < 0
      ? db.prepare('SELECT id FROM skein_conversations WHERE c = ?').pluck().get(conv)
      : db
          .prepare('SELECT id FROM skein_messages INDEXED BY skein_messages_seq WHERE conv = ? AND seq = ?')
          .pluck()
          .get(conv, row.parent_seq)
  if (typeof parent !== 'string') return false
  const hash = Buffer.from(row.body_hash).toString('hex')
  return hashMessage(parent as MessageId | ConversationId, row.role as Role, row.at, hash) === row.id
}
