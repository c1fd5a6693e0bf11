import type { LoadedBlob } from '../../core/body.ts'
import type { AgentLink, Branch } from '../../core/branch.ts'
import type { Conversation, ToolResultPolicy } from '../../core/conversation.ts'
import { BusyError, CorruptError, type Holder } from '../../core/errors.ts'
import {
  type ConversationId,
  looksLikeConversationId,
  looksLikeMessageId,
  type MessageId,
} from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Erasure, Message } from '../../core/message.ts'
import { readBody } from '../../core/read-body.ts'
import type { Summary } from '../../core/summary.ts'
import type { Turn, Usage } from '../../core/turn.ts'
import type {
  BranchRow,
  EventRow,
  LinkRow,
  ListedRow,
  PathRow,
  ShownRow,
  SummaryRow,
  TurnRow,
} from './rows.ts'
import {
  isTime,
  parsed,
  storedConversationId,
  storedDate,
  storedDateOrNull,
  storedList,
  storedMessageIdOrNull,
  storedObject,
} from './stored-fields.ts'

/** Converts rows to values. This happens nowhere else. Each function throws CorruptError for a row that
 *  cannot be a value. */

// The value of nearly every row need not be parsed.
const fullResults = JSON.stringify('full')

export function conversationFromRow(row: ShownRow): Conversation {
  // Lists have many rows, so that names for errors are made only if they are needed.
  if (!hasReadableKeys(row)) checkKeys(row)
  return {
    id: row.id as ConversationId,
    kind: row.kind as Conversation['kind'],
    title: row.title,
    model: row.model,
    label: row.label,
    channel: row.channel,
    directory: row.directory,
    project: row.project,
    task: row.task,
    owner: row.owner,
    parent:
      row.parent_id === null
        ? null
        : {
            conversationId: row.parent_id as ConversationId,
            messageId: row.parent_message as MessageId | null,
          },
    // Stores of version 0.1 may have `message`, which meant the same as `stored`.
    promptPolicy: row.prompt_policy === 'rebuild' ? 'rebuild' : 'stored',
    prompt: row.prompt_hash === null ? null : { hash: row.prompt_hash, text: row.prompt_text ?? '' },
    toolResults:
      row.tool_results === fullResults
        ? 'full'
        : (parsed(row.tool_results, 'tool result policy', nameOfConversation(row)) as ToolResultPolicy),
    metadata: row.metadata === '{}' ? {} : storedObject(row.metadata, 'metadata', nameOfConversation(row)),
    tags: row.tags === '[]' ? [] : storedList(row.tags, 'tags', nameOfConversation(row)),
    activeBranch: row.active_branch,
    messages: row.messages,
    tokens: row.tokens,
    tokensUsed: row.tokens_used,
    cost: row.cost,
    version: row.version,
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
    expiresAt: dateOrNull(row.expires_at),
    ttlMs: row.ttl_ms,
    trashedAt: dateOrNull(row.trashed_at),
  }
}

function hasReadableKeys({ id, created_at, updated_at, expires_at, trashed_at }: ShownRow): boolean {
  return (
    looksLikeConversationId(id) &&
    isTime(created_at) &&
    isTime(updated_at) &&
    isTime(expires_at) &&
    isTime(trashed_at)
  )
}

/** Throws for the field that cannot be read. */
function checkKeys(row: ShownRow): void {
  const owner = nameOfConversation(row)
  storedConversationId(row.id)
  storedDate(row.created_at, 'creation time', owner)
  storedDate(row.updated_at, 'time of the last change', owner)
  storedDateOrNull(row.expires_at, 'expiry time', owner)
  storedDateOrNull(row.trashed_at, 'trash time', owner)
}

function dateOrNull(time: number | null): Date | null {
  return time === null ? null : new Date(time)
}

type ShownBranch = Pick<
  BranchRow,
  'name' | 'head_id' | 'key' | 'former_key' | 'title' | 'created_at' | 'updated_at'
>

export function branchFromRow(conversationId: ConversationId, row: ShownBranch): Branch {
  const { head_id, created_at, updated_at } = row
  const isReadable =
    (head_id === null || looksLikeMessageId(head_id)) && isTime(created_at) && isTime(updated_at)
  if (!isReadable) checkBranch(conversationId, row)
  return {
    conversationId,
    name: row.name,
    head: head_id as MessageId | null,
    key: row.key,
    formerKey: row.former_key,
    title: row.title,
    createdAt: new Date(created_at),
    updatedAt: new Date(updated_at),
  }
}

/** Throws for the field that cannot be read. */
function checkBranch(conversationId: ConversationId, row: ShownBranch): void {
  const owner = `branch ${row.name} of conversation ${conversationId}`
  storedMessageIdOrNull(row.head_id, 'head', owner)
  storedDate(row.created_at, 'creation time', owner)
  storedDate(row.updated_at, 'time of the last change', owner)
}

/** The branch of a row that also has its conversation. Throws if the branch is missing. */
export function listedBranch(row: ListedRow, name: string): Branch {
  const { branch_created_at: created_at, branch_updated_at: updated_at } = row
  if (created_at === null || updated_at === null)
    throw new CorruptError(`branch ${name} of conversation ${row.id} is missing`)
  return branchFromRow(row.id as ConversationId, {
    name,
    head_id: row.branch_head_id,
    key: row.branch_key,
    former_key: row.branch_former_key,
    title: row.branch_title,
    created_at,
    updated_at,
  })
}

/** The facts about a message that are not in its own row. */
export interface MessageSurroundings {
  readonly conversationId: string
  readonly parentId: string | null
  readonly depth: number
  readonly pathTokens: number
  readonly loadBlob: (hash: string) => LoadedBlob
}

export function messageFromRow(row: PathRow, around: MessageSurroundings): Message {
  const erased = row.erased === null ? null : erasureOf(row.erased, row.id)
  const content =
    row.body === null ? { blocks: [], plain: false, meta: null, blobs: [] } : contentOf(row, row.body, around)
  return {
    id: row.id as MessageId,
    conversationId: around.conversationId as ConversationId,
    parentId: around.parentId as MessageId | null,
    seq: row.seq,
    depth: around.depth,
    role: row.role as Message['role'],
    content: content.blocks,
    plain: content.plain,
    metadata: content.meta,
    createdAt: timeOf(row),
    tokens: row.tokens,
    pathTokens: around.pathTokens,
    turn: row.turn,
    step: row.step,
    label: row.label,
    erased,
    blobs: content.blobs,
  }
}

/** Names the message only if that is necessary: long lists are read message by message. */
function timeOf({ at, id }: PathRow): Date {
  return isTime(at) ? new Date(at) : storedDate(at, 'time', `message ${id}`)
}

function contentOf(row: PathRow, body: string, around: MessageSurroundings) {
  try {
    return readBody(body, around.loadBlob)
  } catch (cause) {
    throw new CorruptError(`message ${row.id} cannot be read: ${(cause as Error).message}`, { cause })
  }
}

function erasureOf(json: string, id: string): Erasure {
  const owner = `message ${id}`
  const { at, by, reason } = storedObject<{ at: number; by: string; reason: string }>(json, 'erasure', owner)
  return { erasedAt: storedDate(at, 'erasure time', owner), by, reason }
}

export function turnFromRow(conversationId: ConversationId, row: TurnRow): Turn {
  const open = row.status === 'open'
  const owner = nameOfTurn(row.key)
  return {
    conversationId,
    key: row.key,
    branch: row.branch,
    status: row.status as Turn['status'],
    first: row.first,
    last: row.last,
    lastStep: row.last_step,
    model: row.model,
    promptHash: row.prompt_hash,
    usage: usageFromRow(row),
    holder: open ? holderFromText(row.holder, owner) : null,
    leaseUntil: open ? storedDateOrNull(row.lease_until, 'lease', owner) : null,
    startedAt: storedDate(row.started_at, 'start', owner),
    endedAt: storedDateOrNull(row.ended_at, 'end', owner),
  }
}

export function usageFromRow(row: Pick<TurnRow, 'key' | 'usage'>): Usage {
  return row.usage === '{}' ? {} : storedObject(row.usage, 'usage', nameOfTurn(row.key))
}

export function dataOfEvent<T extends object = JsonObject>({ n, data }: Pick<EventRow, 'n' | 'data'>): T {
  return storedObject(data, 'data', `event ${n}`)
}

export function timeOfEvent({ n, at }: Pick<EventRow, 'n' | 'at'>): Date {
  return storedDate(at, 'time', `event ${n}`)
}

function nameOfConversation({ id }: ShownRow): string {
  return `conversation ${id}`
}

/** As errors name a turn. */
export function nameOfTurn(key: string): string {
  return `turn ${JSON.stringify(key)}`
}

export function linkFromRow(conversationId: ConversationId, row: LinkRow): AgentLink {
  return {
    conversationId,
    name: row.branch,
    agent: row.agent,
    directory: row.directory,
    foreignId: row.foreign_id,
    seen: row.seen_id as MessageId | null,
    updatedAt: storedDate(row.updated_at, 'time', `the link with the agent ${row.agent}`),
  }
}

export function summaryFromRow(conversationId: ConversationId, row: SummaryRow): Summary {
  return {
    conversationId,
    first: row.first_id as MessageId,
    last: row.last_id as MessageId,
    model: row.model,
    tokens: row.tokens ?? 0,
    text: row.text ?? '',
    checksum: row.checksum ?? '',
    createdAt: storedDate(row.created_at, 'time', `the summary up to message ${row.last_id}`),
  }
}

/** Holders are compared as text, so their fields have a fixed order. */
export function holderText(holder: Holder): string {
  return JSON.stringify([holder.host, holder.boot, holder.pid, holder.startedAt])
}

/** The error that another process holds `what`. */
export function heldByAnother(what: string, held: Pick<TurnRow, 'holder' | 'lease_until'>): BusyError {
  const until = storedDateOrNull(held.lease_until, 'lease', what)
  return new BusyError(what, holderFromText(held.holder, what), until)
}

/** `owner` is what the process holds. */
export function holderFromText(text: string | null, owner: string): Holder | null {
  if (text === null) return null
  const [host, boot, pid, startedAt] = storedList(text, 'holder', owner) as [string, string, number, number]
  return { host, boot, pid, startedAt }
}
