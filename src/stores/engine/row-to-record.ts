import type { EventType } from '../../core/event.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type {
  AgentLinkRecord,
  BranchRecord,
  ConversationRecord,
  DraftRecord,
  EventRecord,
  MessagePosition,
  MessageRecord,
  SummaryRecord,
  TombstoneRecord,
  TurnRecord,
} from '../../core/record.ts'
import { conversationFromRow, dataOfEvent, holderFromText, nameOfTurn, usageFromRow } from './row-to-value.ts'
import type { BranchRow, ConversationRow, LinkRow, SummaryRow } from './rows.ts'
import type { MessageRecordRow, TombstoneRow, TurnRecordRow } from './statements-records.ts'
import { storedObject, storedText } from './stored-fields.ts'

/** Converts rows to the records that leave a store. Each function throws for an inconsistent row, which is
 *  damage. */

export function conversationRecord(row: ConversationRow): ConversationRecord {
  // A record has the times as they are stored, so that each can be checked.
  const times = { created_at: 0, updated_at: 0, expires_at: null, trashed_at: null }
  const { id, kind, messages, tokens, version, trashedAt, ...shown } = conversationFromRow({
    ...row,
    ...times,
  })
  return {
    kind: 'conversation',
    id,
    conversationKind: kind,
    ...shown,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    expiresAt: row.expires_at,
    renewMs: row.renew_ms,
    trashedAt: row.trashed_at,
  }
}

/** `parent_id` and `turn_id` are the ids at the seqs of the row. */
export function messageRecord(
  conversationId: ConversationId,
  row: MessageRecordRow,
  { parent_id, turn_id }: Pick<MessageRecordRow, 'parent_id' | 'turn_id'>,
): MessageRecord {
  if (row.parent_seq >= 0 && parent_id === null)
    throw new Error(`its parent, at seq ${row.parent_seq}, is missing`)
  if (row.turn !== null && turn_id === null)
    throw new Error(`the first message of its turn, at seq ${row.turn}, is missing`)
  return {
    kind: 'message',
    conversationId,
    seq: row.seq,
    id: row.id as MessageId,
    parentId: parent_id as MessageId | null,
    role: row.role as MessageRecord['role'],
    at: row.at,
    tokens: row.tokens,
    turn: turn_id as MessageId | null,
    step: row.step,
    label: row.label,
    bodyHash: Buffer.from(row.body_hash).toString('hex'),
    body: row.body,
    erased: row.erased === null ? null : storedObject(row.erased, 'erasure', `message ${row.id}`),
  }
}

export function tombstoneRecord(conversationId: ConversationId, row: TombstoneRow): TombstoneRecord {
  const parent = row.parent_seq < 0 ? null : spot(row.parent_seq, row.parent_id)
  return {
    kind: 'tombstone',
    conversationId,
    seq: row.seq,
    id: row.id as MessageId,
    parent,
    at: row.at,
    reason: row.reason,
  }
}

export function turnRecord(conversationId: ConversationId, row: TurnRecordRow): TurnRecord {
  return {
    kind: 'turn',
    conversationId,
    key: row.key,
    branch: row.branch,
    status: row.status as TurnRecord['status'],
    first: spot(row.first, row.first_id),
    last: spot(row.last, row.last_id),
    lastStep: row.last_step,
    model: row.model,
    promptHash: row.prompt_hash,
    usage: usageFromRow(row),
    holder: holderFromText(row.holder, nameOfTurn(row.key)),
    leaseUntil: row.lease_until,
    startedAt: row.started_at,
    endedAt: row.ended_at,
  }
}

function spot(seq: number, id: string | null): MessagePosition {
  if (id === null) throw new Error(`there is nothing at seq ${seq}`)
  return { seq, id: id as MessageId }
}

export function summaryRecord(conversationId: ConversationId, row: SummaryRow): SummaryRecord {
  return {
    kind: 'summary',
    conversationId,
    first: row.first_id as MessageId,
    last: row.last_id as MessageId,
    model: row.model,
    tokens: row.tokens ?? 0,
    text: row.text ?? '',
    checksum: row.checksum ?? '',
    createdAt: row.created_at,
  }
}

export function eventRecord(
  conversationId: ConversationId,
  row: { readonly n: number; readonly type: string; readonly at: number; readonly data: string },
): EventRecord {
  return {
    kind: 'event',
    conversationId,
    n: row.n,
    type: row.type as EventType,
    at: row.at,
    data: dataOfEvent(row),
  }
}

export function draftRecord(
  conversationId: ConversationId,
  row: { readonly turn: string; readonly n: number; readonly type: string; readonly text: string },
): DraftRecord {
  return {
    kind: 'draft',
    conversationId,
    turn: row.turn,
    n: row.n,
    type: row.type as DraftRecord['type'],
    text: storedText(row.text, 'text', `piece ${row.n} of the draft of ${nameOfTurn(row.turn)}`),
  }
}

export function branchRecord(conversationId: ConversationId, row: BranchRow): BranchRecord {
  return {
    kind: 'branch',
    conversationId,
    name: row.name,
    head: row.head_id as MessageId | null,
    key: row.key,
    formerKey: row.former_key,
    trashedKey: row.trashed_key,
    title: row.title,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

export function linkRecord(conversationId: ConversationId, row: LinkRow): AgentLinkRecord {
  return {
    kind: 'agent_link',
    conversationId,
    branch: row.branch,
    agent: row.agent,
    directory: row.directory,
    foreignId: row.foreign_id,
    seen: row.seen_id as MessageId | null,
    updatedAt: row.updated_at,
  }
}
