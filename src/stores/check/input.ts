import { type NewAccessToken, tokenScopes } from '../../core/access-token.ts'
import type { ListApprovals, NewApprovalAnswer } from '../../core/approval.ts'
import type { BranchRef, NewAgentLink, NewBranch } from '../../core/branch.ts'
import type { FindWithTailOptions } from '../../core/branch-with-tail.ts'
import {
  checkChoice,
  checkCount,
  checkName,
  checkNonEmpty,
  checkObject,
  checkTime,
} from '../../core/check.ts'
import type * as conversations from '../../core/conversation.ts'
import { type Holder, InvalidError } from '../../core/errors.ts'
import { eventTypes, type ListEvents, type NewEvent } from '../../core/event.ts'
import type { FollowActivityOptions, FollowOptions } from '../../core/follow.ts'
import { type ConversationId, conversationId, type MessageId, messageId } from '../../core/ids.ts'
import { checkJson, isPlainObject } from '../../core/json.ts'
import type {
  ConversationFilter,
  ListConversations,
  ListDirectories,
  ListedConversation,
  ListMessages,
  ListPath,
  ListTurns,
  OrderedPageOptions,
  PageOptions,
  SearchOptions,
} from '../../core/listing.ts'
import { roles } from '../../core/message.ts'
import type { PathSectionOptions } from '../../core/path-section.ts'
import type { ReadOptions } from '../../core/ports.ts'
import type { SweepOptions } from '../../core/removal.ts'
import type { MessageRange, NewSummary } from '../../core/summary.ts'
import type { TailBudget } from '../../core/tail.ts'
import type { DraftPiece, TurnEnd, TurnStep, Usage } from '../../core/turn.ts'
import * as f from './fields.ts'
import { checkHash, each, fields, maybe, onlyFields, optional, unchecked } from './fields.ts'

/** Checks input of callers before an engine sees it. Both engines then refuse the same input with the same
 *  error, and nothing is half-written. Each check throws InvalidError naming the field. */

export function checkRef(ref: BranchRef): BranchRef {
  checkObject(ref, 'branch', 'a branch')
  return { conversationId: conversationId(ref.conversationId), name: checkName(ref.name, 'branch') }
}

const messageIds = f.listOf<MessageId>(messageId)
export const checkMessageIds = (ids: readonly MessageId[]) => messageIds(ids, 'ids')

const conversationIds = f.listOf<ConversationId>(conversationId)
export const checkConversationIds = (ids: readonly ConversationId[]) => conversationIds(ids, 'ids')

/** Conversations as a list returned them. */
export function checkListed(listed: readonly ListedConversation[]): readonly ListedConversation[] {
  if (!Array.isArray(listed)) throw new InvalidError('conversations', 'must be a list')
  checkCount(listed.length, 'the number of conversations', 0, 1_000)
  for (const one of listed) conversationId(one?.id, 'conversations')
  return listed
}

export function optionalMessageId(id: MessageId | null, field: string): MessageId | null {
  return id === null ? null : messageId(id, field)
}

export const checkKind = f.wordFrom('main', 'subagent')
export const checkTtl = f.numberFrom(1, 100 * 365 * 86_400_000)

/** The fields of a conversation that may be null. */
export const nullableFields = {
  title: f.checkTitle,
  model: checkName,
  label: checkName,
  channel: checkName,
  project: checkName,
  task: checkName,
  owner: checkName,
  directory: f.checkPath,
}

/** The fields of a conversation that have a default. */
export const settingFields = {
  promptPolicy: f.wordFrom('rebuild', 'stored'),
  toolResults: checkToolResults,
  metadata: f.jsonObject(65_536),
  tags: f.listOf<string>(checkName),
}

function checkToolResults(policy: conversations.ToolResultPolicy, field: string) {
  if (typeof policy === 'string') return checkChoice(policy, field, ['full', 'metadata'])
  if (!isPlainObject(policy)) throw new InvalidError(field, 'must be full, metadata or {truncate}')
  checkCount(policy.truncate, `${field}.truncate`, 1, 2 ** 31 - 1)
  return policy
}

const patchFields = {
  ...each(maybe, nullableFields),
  prompt: maybe(f.checkLongText),
  ...each(optional, settingFields),
  expiresAt: maybe(checkTime),
  ttlMs: maybe(checkTtl),
}
export const checkPatch = onlyFields<conversations.ConversationPatch>(patchFields)

const newFields = onlyFields<conversations.NewConversation>({
  ...patchFields,
  ...each(optional, {
    id: conversationId,
    key: checkName,
    kind: checkKind,
    createdAt: checkTime,
    parent: checkParent,
  }),
})

export function checkNew<T extends conversations.NewConversation>(conversation: T): T {
  newFields(conversation)
  const { parent } = conversation
  return parent === undefined ? conversation : { ...conversation, parent: checkParent(parent, 'parent') }
}

export function checkParent(parent: conversations.ParentLink, field: string): conversations.ParentLink {
  return {
    conversationId: conversationId(parent.conversationId, `${field}.conversationId`),
    messageId: optionalMessageId(parent.messageId, `${field}.messageId`),
  }
}

export const checkNewBranch = fields<NewBranch>({
  name: checkName,
  ...each(optional, { key: checkName, title: f.checkTitle }),
})

const agentFields = { agent: checkName, directory: f.checkPath }
const agent = fields<Pick<NewAgentLink, 'agent' | 'directory'>>(agentFields)
export const checkAgent = (name: string, directory: string) => agent({ agent: name, directory })
export const checkLink = fields<NewAgentLink>({
  ...agentFields,
  foreignId: checkName,
  seen: f.orNull(messageId),
})

const holderFields = fields<Holder>({
  host: checkName,
  boot: checkName,
  pid: f.checkInt53,
  startedAt: f.checkInt53,
})
const holder = f.plainObject('must say who holds it', holderFields)
export const checkHolder = (given: Holder, field = 'holder') => holder(given, field)

export const checkTurnStatus = f.wordFrom('open', 'complete', 'interrupted', 'failed')

const tokens = {
  input: f.checkInt53,
  output: f.checkInt53,
  cacheRead: f.checkInt53,
  cacheWrite: f.checkInt53,
  reasoning: f.checkInt53,
}
export const checkUsage = fields<Usage>(each(optional, { ...tokens, cost: f.checkCost }))

const stepFields = fields<TurnStep>({
  key: checkName,
  step: f.checkInt32,
  ...each(optional, {
    status: checkTurnStatus,
    holder,
    model: checkName,
    promptHash: checkName,
    usage: checkUsage,
  }),
})

export function checkTurnStep(turn: TurnStep): TurnStep {
  stepFields(turn, 'turn')
  if (turn.holder === undefined && turn.status === 'open')
    throw new InvalidError('turn.holder', 'must say who holds an open turn')
  return turn
}

export const checkTurnEnd = fields<TurnEnd>({
  status: f.wordFrom('complete', 'interrupted', 'failed'),
  heldBy: holder,
  usage: optional(checkUsage),
})

export const pieceFields = { n: f.checkInt32, type: f.wordFrom('text', 'thinking'), text: checkPieceText }
const piece = f.plainObject('must be a piece of a draft', fields<DraftPiece>(pieceFields))
export const checkPieces = f.nonEmptyList('pieces', piece)

function checkPieceText(value: unknown, field: string): string {
  checkJson(value, field)
  if (typeof value !== 'string') throw new InvalidError(field, 'must be text')
  return value
}

export const checkEventType = f.wordFrom(...eventTypes)
const eventFields = fields<NewEvent>({
  type: checkEventType,
  ...each(optional, { createdAt: checkTime, data: f.checkEventData }),
})
export const checkEvents = f.nonEmptyList('events', f.plainObject('must be an event', eventFields))

/** A version or several. */
export function checkVersions(version: number | readonly number[]): readonly number[] {
  const versions = Array.isArray(version) ? (version as readonly number[]) : [version as number]
  for (const one of versions) checkCount(one, 'version', 0, Number.MAX_SAFE_INTEGER)
  return versions
}

/** A cursor is checked where it is read. */
const pageFields = { limit: optional(f.numberFrom(1, 10_000)) }
const orderedFields = { ...pageFields, order: optional(f.wordFrom('ascending', 'descending')) }
const page = fields<Omit<PageOptions, 'after'>>(pageFields)
export function checkPage<T extends PageOptions>(options: T): T {
  page(options)
  return options
}
const pathPage = fields<Omit<ListPath, 'after'>>({
  ...pageFields,
  fromDepth: optional(f.numberFrom(0, 2 ** 31 - 1)),
})
export function checkPathPage<T extends ListPath>(options: T): T {
  pathPage(options)
  return options
}
export const checkPathSection = fields<Omit<PathSectionOptions, keyof ReadOptions>>({
  limit: optional(f.numberFrom(1, 1_000)),
  ...each(optional, { from: f.numberFrom(0, 2 ** 31 - 1), before: f.numberFrom(0, 2 ** 31 - 1) }),
})
export const checkOrderedPage = fields<Omit<OrderedPageOptions, 'after'>>(orderedFields)
export const checkTurnListing = fields<Omit<ListTurns, 'after'>>({
  ...orderedFields,
  status: optional(checkTurnStatus),
  firsts: optional(f.listOf(f.checkInt32)),
})
export const checkEventListing = fields<Omit<ListEvents, 'after'>>({
  ...orderedFields,
  types: f.anyOf(checkEventType),
})

const approvalStatus = f.wordFrom('pending', 'answered', 'withdrawn', 'any')
export const checkApprovalListing = fields<ListApprovals>({
  conversationId: optional(conversationId),
  status: optional(approvalStatus),
})
const approvalFields = fields<NewApprovalAnswer>({
  answer: f.wordFrom('allow', 'allow_in_conversation', 'allow_always', 'deny'),
  ...each(optional, { by: f.orNull(checkName), comment: f.orNull(f.checkReason) }),
})
export const checkApprovalAnswer = (given: NewApprovalAnswer) => approvalFields(given, 'answer')

const range = fields<MessageRange>({ first: messageId, last: messageId })
export const checkRange = (given: MessageRange) => range(given, 'range')

const summary = { text: f.checkLongText, tokens: f.checkInt32, model: optional(checkName), holder }
const summaryFields = fields<Omit<NewSummary, keyof MessageRange>>(summary)
export function checkSummary(given: NewSummary): NewSummary {
  checkRange(given)
  return summaryFields(given)
}

function checkDirectories(directory: string | readonly string[], field: string): void {
  if (!Array.isArray(directory)) return void f.checkPath(directory as string, field)
  for (const [i, one] of directory.entries()) f.checkPath(one, `${field}[${i}]`)
}

const filters: f.FieldTable<ConversationFilter> = {
  ...each(maybe, { channel: checkName, project: checkName, task: checkName, directory: checkDirectories }),
  ...each(optional, { kind: checkKind, tag: checkName, title: f.checkTitle }),
  ...each(optional, { keyPrefix: f.textUpTo(512), labelPrefix: f.textUpTo(512) }),
  ...each(optional, { updatedFrom: checkTime, updatedBefore: checkTime, expiredBy: checkTime }),
  metadata: checkMetadataFilter,
  parent: optional(conversationId),
  trashed: unchecked,
}
const filterFields = onlyFields<ConversationFilter>(filters)
const listingFields = onlyFields<ListConversations>({
  ...filters,
  limit: optional(f.numberFrom(1, 1_000)),
  after: unchecked,
})

function checkMetadataFilter(metadata: ConversationFilter['metadata'], field: string): void {
  for (const [key, value] of Object.entries(metadata ?? {})) {
    checkName(key, field)
    if (!['string', 'number', 'boolean'].includes(typeof value))
      throw new InvalidError(`${field}.${key}`, 'must be a string, a number, true or false')
  }
}

export function checkFilter(filter: ConversationFilter): ConversationFilter {
  return withParentId(filterFields(filter))
}

export function checkListing(options: ListConversations): ListConversations {
  return withParentId(listingFields(options))
}

function withParentId<T extends ConversationFilter>(filter: T): T {
  return filter.parent === undefined ? filter : { ...filter, parent: conversationId(filter.parent) }
}

const directoryListing = fields<Pick<ListDirectories, 'within'>>({ within: optional(f.checkPath) })

export function checkDirectoryListing(options: ListDirectories): ListDirectories {
  directoryListing(options)
  return checkPage(options)
}

const messageListing = onlyFields<ListMessages>({
  ...{ conversationId: unchecked, after: unchecked, blobs: unchecked },
  order: optional(f.wordFrom('ascending', 'descending')),
  ...each(optional, { limit: f.numberFrom(1, 10_000), offset: f.checkInt32, label: checkName }),
  afterSeq: optional(f.numberFrom(-1, 2 ** 31 - 1)),
  roles: f.anyOf(f.wordFrom(...roles)),
})

export function checkMessageListing(options: ListMessages): ListMessages {
  return { ...messageListing(options), conversationId: conversationId(options.conversationId) }
}

export const checkSearch = onlyFields<SearchOptions>({
  ...{ after: unchecked, signal: unchecked },
  ...each(optional, { limit: f.numberFrom(1, 200), order: f.wordFrom('newest', 'ranked') }),
  ...each(optional, { snippetLength: f.numberFrom(20, 2_000), directory: checkDirectories, kind: checkKind }),
  budgetMs: optional(f.checkInt53),
  conversations: optional(checkConversations),
  ...each(maybe, { channel: checkName, project: checkName }),
  ...each(optional, { keyPrefix: f.textUpTo(512), labelPrefix: f.textUpTo(512), tag: checkName }),
  metadata: checkMetadataFilter,
})

/** The index is asked for each of them by name. */
const mostConversations = 1_000

function checkConversations(ids: readonly string[], field: string): void {
  if (!Array.isArray(ids)) throw new InvalidError(field, 'must be a list of ids')
  if (ids.length > mostConversations)
    throw new InvalidError(field, `must have at most ${mostConversations} ids`)
  for (const id of ids) conversationId(id)
}

export const checkFollowActivity = fields<Pick<FollowActivityOptions, 'since'>>({
  since: optional(checkTime),
})

/** A cursor is checked where it is read. */
export const checkFollow = fields<Pick<FollowOptions, 'blobs'>>({
  blobs: optional(f.wordFrom('whole', 'preview')),
})

export const checkFindWithTail = onlyFields<FindWithTailOptions>({
  blobs: optional(f.wordFrom('whole', 'preview')),
  summaries: optional(f.numberFrom(0, 1_000)),
})

const budgetFields = fields<TailBudget>(each(optional, { tokens: f.checkInt53, messages: f.checkInt53 }))
export function checkBudget(budget: TailBudget): TailBudget {
  if (budget.tokens === undefined && budget.messages === undefined)
    throw new InvalidError('budget', 'must say how many tokens or messages')
  return budgetFields(budget, 'budget')
}

/** Returns milliseconds. */
export function checkSince(since: Date): number {
  const time = since instanceof Date ? since.getTime() : Number.NaN
  if (Number.isNaN(time)) throw new InvalidError('since', 'must be a date')
  return time
}

const checkSweepFields = fields<Pick<SweepOptions, 'ifOlderThanMs' | 'limit'>>({
  ifOlderThanMs: optional(f.checkInt53),
  limit: optional(f.numberFrom(1, 10_000)),
})

/** Checks how to sweep. Only a dry run has pages: a sweep does everything. */
export function checkSweep(options: SweepOptions): SweepOptions {
  checkSweepFields(options)
  for (const field of ['limit', 'after'] as const)
    if (options[field] !== undefined && options.dryRun !== true)
      throw new InvalidError(field, 'needs dryRun: a sweep does everything')
  return options
}

/** Checks a token before an engine sees it. */
export const checkToken = fields<NewAccessToken>({
  hash: checkHash,
  name: checkName,
  scopes: checkScopes,
  expiresAt: optional(checkTime),
})

function checkScopes(scopes: NewAccessToken['scopes'], field: string): void {
  checkNonEmpty(scopes, field)
  for (const [i, scope] of scopes.entries()) checkChoice(scope, `${field}[${i}]`, tokenScopes)
}
