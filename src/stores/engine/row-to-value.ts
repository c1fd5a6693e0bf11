import { decodeBody, type LoadedBlob } from '../../core/body.ts'
import type { AgentLink, Branch } from '../../core/branch.ts'
import type { Conversation, ToolResultPolicy } from '../../core/conversation.ts'
import { CorruptError, type Holder } from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { Erasure, Message } from '../../core/message.ts'
import type { Summary } from '../../core/summary.ts'
import type { Turn, Usage } from '../../core/turn.ts'
import type { BranchRow, LinkRow, ListedRow, PathRow, ShownRow, SummaryRow, TurnRow } from './rows.ts'

/** Converts rows to values. This happens nowhere else. */

// The value of nearly every row need not be parsed.
const fullResults = JSON.stringify('full')

export function conversationFromRow(row: ShownRow): Conversation {
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
      row.tool_results === fullResults ? 'full' : (JSON.parse(row.tool_results) as ToolResultPolicy),
    metadata: row.metadata === '{}' ? {} : (JSON.parse(row.metadata) as Conversation['metadata']),
    tags: row.tags === '[]' ? [] : (JSON.parse(row.tags) as string[]),
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

type ShownBranch = Pick<
  BranchRow,
  'name' | 'head_id' | 'key' | 'former_key' | 'title' | 'created_at' | 'updated_at'
>

export function branchFromRow(conversationId: ConversationId, row: ShownBranch): Branch {
  return {
    conversationId,
    name: row.name,
    head: row.head_id as MessageId | null,
    key: row.key,
    formerKey: row.former_key,
    title: row.title,
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  }
}

/** The branch of a row that also has its conversation. Throws if the branch is missing. */
export function listedBranch(row: ListedRow, name: string): Branch {
  const { branch_created_at: created_at, branch_updated_at: updated_at } = row
  if (created_at === null || updated_at === null) throw new Error(`branch ${name} is missing`)
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

/** Throws CorruptError if the body cannot be read. */
export function messageFromRow(row: PathRow, around: MessageSurroundings): Message {
  const erased = row.erased === null ? null : erasureOf(row.erased)
  const content =
    row.body === null ? { blocks: [], plain: false, meta: null, blobs: [] } : readBody(row, row.body, around)
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
    createdAt: new Date(row.at),
    tokens: row.tokens,
    pathTokens: around.pathTokens,
    turn: row.turn,
    step: row.step,
    label: row.label,
    erased,
    blobs: content.blobs,
  }
}

function readBody(row: PathRow, body: string, around: MessageSurroundings) {
  try {
    return decodeBody(body, around.loadBlob)
  } catch (cause) {
    throw new CorruptError(`message ${row.id} cannot be read: ${(cause as Error).message}`, { cause })
  }
}

function erasureOf(json: string): Erasure {
  const { at, by, reason } = JSON.parse(json) as { at: number; by: string; reason: string }
  return { erasedAt: new Date(at), by, reason }
}

export function turnFromRow(conversationId: ConversationId, row: TurnRow): Turn {
  const open = row.status === 'open'
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
    usage: JSON.parse(row.usage) as Usage,
    holder: open ? holderFromText(row.holder) : null,
    leaseUntil: open ? dateOrNull(row.lease_until) : null,
    startedAt: new Date(row.started_at),
    endedAt: dateOrNull(row.ended_at),
  }
}

export function linkFromRow(conversationId: ConversationId, row: LinkRow): AgentLink {
  return {
    conversationId,
    name: row.branch,
    agent: row.agent,
    directory: row.directory,
    foreignId: row.foreign_id,
    seen: row.seen_id as MessageId | null,
    updatedAt: new Date(row.updated_at),
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
    createdAt: new Date(row.created_at),
  }
}

/** Holders are compared as text, so their fields have a fixed order. */
export function holderText(holder: Holder): string {
  return JSON.stringify([holder.host, holder.boot, holder.pid, holder.startedAt])
}

export function holderFromText(text: string | null): Holder | null {
  if (text === null) return null
  const [host, boot, pid, startedAt] = JSON.parse(text) as [string, string, number, number]
  return { host, boot, pid, startedAt }
}

export function dateOrNull(time: number | null): Date | null {
  return time === null ? null : new Date(time)
}
