import type { Conversation, ConversationPatch, NewConversation } from '../../core/conversation.ts'
import { KeyReusedError, NotFoundError } from '../../core/errors.ts'
import { sha256Hex } from '../../core/hash.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type { BranchInConversation, FoundOrCreated } from '../../core/ports.ts'
import { fold } from '../../core/search/fold.ts'
import { first, later, type Program, run } from '../engine/engine.ts'
import { conversationFromRow, listedBranch } from '../engine/row-to-value.ts'
import type { Conv, ConversationFields, ConversationRow } from '../engine/rows.ts'
import type { RowOf } from '../engine/statements.ts'
import { beforeRoots, headFields } from './insert-message.ts'
import { giveUpKey, isExpired, takeKey } from './keys.ts'
import { lockLiving, needConversation } from './lookup.ts'

/** A new conversation whose fields have been checked. */
export interface ConversationRequest extends NewConversation {
  readonly id: ConversationId
  readonly now: number
}

export function* getConversation(id: ConversationId): Program<Conversation> {
  return conversationFromRow(yield* needConversation(id))
}

/** A conversation with one of its branches. Default: the active branch. */
export function* readBranchInConversation(
  id: ConversationId,
  branch: string | null = null,
): Program<BranchInConversation> {
  return branchFromRow(yield* first('branchInConversation', { id, name: branch }), id, branch)
}

function branchFromRow(
  row: RowOf<'branchInConversation'> | undefined,
  id: ConversationId,
  branch: string | null,
): BranchInConversation {
  if (!row) throw new NotFoundError('conversation', id)
  const name = branch ?? row.active_branch
  if (row.branch_created_at === null) throw new NotFoundError('branch', name)
  return { conversation: conversationFromRow(row), branch: listedBranch(row, name) }
}

export function* create(request: ConversationRequest): Program<BranchInConversation> {
  for (;;) {
    const created = yield* insert(request)
    if (created) return created
    if (request.key !== undefined) yield* takeKey(request.key, request.now)
    yield* checkFreeId(request.id)
  }
}

/** Stores a new conversation. Returns undefined and stores nothing but the prompt if its id is taken, or if
 *  its key belongs to a branch, also of an expired conversation. If another transaction takes the key
 *  meanwhile, the unique index reports it, and the whole program runs again. */
function* insert(request: ConversationRequest): Program<BranchInConversation | undefined> {
  const { id, now } = request
  const created = request.createdAt?.getTime() ?? now
  if (request.prompt !== undefined) yield* putPrompt(request.prompt)
  const inserted = yield* later('insertConversation', {
    id,
    kind: request.kind ?? 'main',
    parent_id: request.parent?.conversationId ?? null,
    parent_message: request.parent?.messageId ?? null,
    ...fieldsOf(emptyFields(request, now), request, created),
    ...headFields(beforeRoots),
    key: request.key ?? null,
    now: created,
  })
  const row = yield* first('branchInConversation', { id, name: null })
  const [made] = inserted()
  if (!made) return undefined
  // After the row was read, so that they are sent with the commit.
  yield* putDetails(made.conv, request)
  return branchFromRow(row, id, null)
}

/** Throws KeyReusedError if a conversation has this id. */
function* checkFreeId(id: ConversationId): Program<void> {
  if (yield* first('versionById', { id }))
    throw new KeyReusedError(id, `there is a conversation ${id} already`)
}

/** Finds a conversation by key, or creates one. An expired conversation gives the key up in the same
 *  transaction. */
export function* findOrCreate(key: string, request: ConversationRequest): Program<FoundOrCreated> {
  for (;;) {
    const created = yield* insert({ ...request, key })
    if (created) return { ...created, created: true }
    // The writer that took the id may have taken the key as well.
    const found = yield* first('conversationByKey', { key })
    if (!found) {
      yield* checkFreeId(request.id)
      continue
    }
    const id = found.id as ConversationId
    if (!isExpired(found, request.now))
      return { ...(yield* readBranchInConversation(id, found.name)), created: false }
    yield* giveUpKey(key, id, request.now)
  }
}

/** A task of a project, or of none. */
export interface TaskRef {
  readonly task: string
  readonly project: string | null
}

/** The newest conversation of a task, or null. */
export function* findByTask(task: TaskRef, now: number): Program<BranchInConversation | null> {
  const found = yield* first('conversationByTask', { ...task, now })
  return found ? yield* readBranchInConversation(found.id as ConversationId) : null
}

/** Finds the newest conversation of a task, or creates one. No index makes a task unique, because an expired
 *  conversation keeps its task. So the task itself is locked. */
export function* findOrCreateByTask(task: TaskRef, request: ConversationRequest): Program<FoundOrCreated> {
  yield* run('lockTask', { ...task })
  const found = yield* findByTask(task, request.now)
  if (found) return { ...found, created: false }
  return { ...(yield* create({ ...request, ...task })), created: true }
}

export function* updateConversation(
  id: ConversationId,
  patch: ConversationPatch,
  now: number,
): Program<Conversation> {
  yield* lockLiving(id)
  const row = yield* needConversation(id)
  if (typeof patch.prompt === 'string') yield* putPrompt(patch.prompt)
  yield* putDetails(row.conv, patch)
  yield* run('updateConversation', { conv: row.conv, ...fieldsOf(row, patch, now), now })
  return yield* getConversation(id)
}

type Described = Pick<ConversationRow, Exclude<keyof ConversationFields, 'title_folded'>>

/** The default fields. A `ttlMs` without an expiry starts now. */
const emptyFields = (request: ConversationRequest, now: number): Described => ({
  title: null,
  model: null,
  label: null,
  channel: null,
  directory: null,
  project: null,
  task: null,
  owner: null,
  prompt_policy: 'rebuild',
  prompt_hash: null,
  tool_results: JSON.stringify('full'),
  metadata: '{}',
  expires_at: request.ttlMs === undefined ? null : now + request.ttlMs,
  renew_ms: null,
  tags: '[]',
  ttl_ms: null,
})

/** The fields of a row after a change: the given value, or the previous one. */
function fieldsOf(row: Described, change: ConversationPatch, now: number): ConversationFields {
  const title = given(change.title, row.title)
  const prompt = change.prompt
  return {
    title,
    title_folded: title === null ? null : fold(title),
    model: given(change.model, row.model),
    label: given(change.label, row.label),
    channel: given(change.channel, row.channel),
    directory: given(change.directory, row.directory),
    project: given(change.project, row.project),
    task: given(change.task, row.task),
    owner: given(change.owner, row.owner),
    prompt_policy: change.promptPolicy ?? row.prompt_policy,
    prompt_hash: prompt === undefined ? row.prompt_hash : prompt === null ? null : sha256Hex(prompt),
    tool_results: change.toolResults === undefined ? row.tool_results : JSON.stringify(change.toolResults),
    metadata: change.metadata === undefined ? row.metadata : JSON.stringify(change.metadata),
    ...expiryOf(row, change, now),
    ttl_ms: given(change.ttlMs, row.ttl_ms),
    tags: change.tags === undefined ? row.tags : JSON.stringify(tagSet(change.tags)),
  }
}

/** An expiry without `ttlMs` also sets the time by which a later append renews the conversation. */
function expiryOf(row: Described, change: ConversationPatch, now: number) {
  const { expiresAt } = change
  if (expiresAt === undefined) return { expires_at: row.expires_at, renew_ms: row.renew_ms }
  if (expiresAt === null) return { expires_at: null, renew_ms: null }
  return { expires_at: expiresAt.getTime(), renew_ms: Math.max(expiresAt.getTime() - now, 0) }
}

function given<T>(change: T | null | undefined, before: T | null): T | null {
  return change === undefined ? before : change
}

/** Must run before the row that refers to the prompt is written. */
export function* putPrompt(text: string): Program<void> {
  yield* run('putPrompt', { hash: sha256Hex(text), text })
}

/** Each tag once, in byte order. */
export function tagSet(tags: readonly string[]): string[] {
  return [...new Set(tags)].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
}

/** Writes tags, and the metadata that lists filter by. */
export function* putDetails(conv: Conv, details: ConversationPatch): Program<void> {
  if (details.tags) {
    yield* run('clearTags', { conv })
    for (const tag of tagSet(details.tags)) yield* run('putTag', { conv, tag })
  }
  if (details.metadata) {
    yield* run('clearMetadata', { conv })
    for (const [key, value] of scalarsOf(details.metadata as JsonObject))
      yield* run('putMetadata', { conv, key, value })
  }
}

/** The members that a filter can compare. A key that no engine could store as text (NUL, a lone surrogate)
 *  stays in the metadata, but cannot be filtered by. */
function scalarsOf(metadata: JsonObject): [string, string][] {
  return Object.entries(metadata)
    .filter(([key, value]) => typeof value !== 'object' && key.isWellFormed() && !key.includes('\0'))
    .map(([key, value]) => [key, JSON.stringify(value)])
}
