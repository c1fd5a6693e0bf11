import type { EventType } from '../../core/event.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type {
  Spot,
  StoredAgentLink,
  StoredBranch,
  StoredConversation,
  StoredEvent,
  StoredMessage,
  StoredSummary,
  StoredTombstone,
  StoredTurn,
} from '../../core/record.ts'
import type { Usage } from '../../core/turn.ts'
import { conversationOf, holderOf } from './row-to-value.ts'
import type { BranchRow, ConversationRow, LinkRow, SummaryRow } from './rows.ts'
import type { StoredMessageRow, StoredTurnRow, TombstoneRow } from './statements-records.ts'

/** Rows as the records that leave a store. Each throws for a row that makes no sense, which is damage. */

export function storedConversation(row: ConversationRow): StoredConversation {
  const { id, kind, messages, tokens, version, trashedAt, ...shown } = conversationOf(row)
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

export function storedMessage(conversationId: ConversationId, row: StoredMessageRow): StoredMessage {
  if (row.parent_seq >= 0 && row.parent_id === null)
    throw new Error(`its parent, at seq ${row.parent_seq}, is missing`)
  if (row.turn !== null && row.turn_id === null)
    throw new Error(`the first message of its turn, at seq ${row.turn}, is missing`)
  return {
    kind: 'message',
    conversationId,
    seq: row.seq,
    id: row.id as MessageId,
    parentId: row.parent_id as MessageId | null,
    role: row.role as StoredMessage['role'],
    at: row.at,
    tokens: row.tokens,
    turn: row.turn_id as MessageId | null,
    step: row.step,
    label: row.label,
    bodyHash: Buffer.from(row.body_hash).toString('hex'),
    body: row.body,
    erased: row.erased === null ? null : (JSON.parse(row.erased) as StoredMessage['erased']),
  }
}

export function storedTombstone(conversationId: ConversationId, row: TombstoneRow): StoredTombstone {
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

export function storedTurn(conversationId: ConversationId, row: StoredTurnRow): StoredTurn {
  return {
    kind: 'turn',
    conversationId,
    key: row.key,
    branch: row.branch,
    status: row.status as StoredTurn['status'],
    first: spot(row.first, row.first_id),
    last: spot(row.last, row.last_id),
    lastStep: row.last_step,
    model: row.model,
    promptHash: row.prompt_hash,
    usage: JSON.parse(row.usage) as Usage,
    holder: holderOf(row.holder),
    leaseUntil: row.lease_until,
    startedAt: row.started_at,
    endedAt: row.ended_at,
  }
}

function spot(seq: number, id: string | null): Spot {
  if (id === null) throw new Error(`there is nothing at seq ${seq}`)
  return { seq, id: id as MessageId }
}

export function storedSummary(conversationId: ConversationId, row: SummaryRow): StoredSummary {
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

export function storedEvent(
  conversationId: ConversationId,
  row: { readonly n: number; readonly type: string; readonly at: number; readonly data: string },
): StoredEvent {
  return {
    kind: 'event',
    conversationId,
    n: row.n,
    type: row.type as EventType,
    at: row.at,
    data: JSON.parse(row.data) as JsonObject,
  }
}

export function storedBranch(conversationId: ConversationId, row: BranchRow): StoredBranch {
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

export function storedLink(conversationId: ConversationId, row: LinkRow): StoredAgentLink {
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
