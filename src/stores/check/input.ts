import type { BranchRef, NewAgentLink, NewBranch } from '../../core/branch.ts'
import {
  checkChoice,
  checkCount,
  checkJson,
  checkJsonObject,
  checkName,
  checkNonEmpty,
  checkText,
  checkTime,
  isPlainObject,
} from '../../core/check.ts'
import type {
  ConversationPatch,
  NewConversation,
  ParentLink,
  ToolResultPolicy,
} from '../../core/conversation.ts'
import { type Holder, InvalidError } from '../../core/errors.ts'
import { conversationId, type MessageId, messageId } from '../../core/ids.ts'
import type {
  ConversationFilter,
  ListConversations,
  ListMessages,
  SearchOptions,
} from '../../core/listing.ts'
import type { NonEmpty } from '../../core/message.ts'
import type { EventListing, NewEvent, NewSummary, Range } from '../../core/records.ts'
import type { DraftPiece, TurnEnd, TurnStep, Usage } from '../../core/turn.ts'

/** What a caller gave, checked before anything is asked of an engine: both engines then refuse the same
 *  things, with the same words, and nothing is half-written. Each throws InvalidError naming the field. */

export const longestTitle = 2_000
export const longestPath = 8_192
export const longestPrompt = 16_777_216
const longestMetadata = 65_536
export const longestSpan = 100 * 365 * 86_400_000

export function checkRef(ref: BranchRef): BranchRef {
  return { conversationId: conversationId(ref.conversationId), name: checkName(ref.name, 'branch') }
}

export function checkMessageIds(ids: readonly MessageId[]): readonly MessageId[] {
  if (!Array.isArray(ids)) throw new InvalidError('ids', 'must be a list')
  return ids.map((id, i) => messageId(id, `ids[${i}]`))
}

export function optionalMessageId(id: MessageId | null, field: string): MessageId | null {
  return id === null ? null : messageId(id, field)
}

export function checkPatch<T extends ConversationPatch>(patch: T): T {
  if (patch.title != null) checkText(patch.title, 'title', longestTitle)
  for (const field of ['model', 'label', 'channel', 'project', 'task', 'owner'] as const) {
    if (patch[field] != null) checkName(patch[field], field)
  }
  if (patch.directory != null) checkText(patch.directory, 'directory', longestPath)
  if (patch.prompt != null) checkText(patch.prompt, 'prompt', longestPrompt)
  if (patch.promptPolicy !== undefined) {
    checkChoice(patch.promptPolicy, 'promptPolicy', ['rebuild', 'stored', 'message'])
  }
  if (patch.toolResults !== undefined) checkToolResults(patch.toolResults)
  if (patch.metadata !== undefined) checkJsonObject(patch.metadata, 'metadata', longestMetadata)
  if (patch.tags !== undefined) checkTags(patch.tags)
  if (patch.expiresAt != null) checkTime(patch.expiresAt, 'expiresAt')
  if (patch.ttlMs != null) checkCount(patch.ttlMs, 'ttlMs', 1, longestSpan)
  return patch
}

function checkTags(tags: readonly string[]): void {
  if (!Array.isArray(tags)) throw new InvalidError('tags', 'must be a list')
  for (const [i, tag] of tags.entries()) checkName(tag, `tags[${i}]`)
}

function checkToolResults(policy: ToolResultPolicy): void {
  if (typeof policy === 'string') checkChoice(policy, 'toolResults', ['full', 'metadata'])
  else if (!isPlainObject(policy))
    throw new InvalidError('toolResults', 'must be full, metadata or {truncate}')
  else checkCount(policy.truncate, 'toolResults.truncate', 1, 2 ** 31 - 1)
}

export function checkNew<T extends NewConversation>(conversation: T): T {
  checkPatch(conversation)
  if (conversation.id !== undefined) conversationId(conversation.id, 'id')
  if (conversation.key !== undefined) checkName(conversation.key, 'key')
  if (conversation.kind !== undefined) checkChoice(conversation.kind, 'kind', ['main', 'subagent'])
  if (conversation.createdAt !== undefined) checkTime(conversation.createdAt, 'createdAt')
  const { parent } = conversation
  return parent === undefined ? conversation : { ...conversation, parent: checkParent(parent) }
}

function checkParent(parent: ParentLink): ParentLink {
  return {
    conversationId: conversationId(parent.conversationId, 'parent.conversationId'),
    messageId: optionalMessageId(parent.messageId, 'parent.messageId'),
  }
}

export function checkNewBranch(branch: NewBranch): NewBranch {
  checkName(branch.name, 'name')
  if (branch.key !== undefined) checkName(branch.key, 'key')
  if (branch.title !== undefined) checkText(branch.title, 'title', longestTitle)
  return branch
}

export function checkLink(link: NewAgentLink): NewAgentLink {
  checkAgent(link.agent, link.directory)
  checkName(link.foreignId, 'foreignId')
  optionalMessageId(link.seen, 'seen')
  return link
}

export function checkAgent(agent: string, directory: string): void {
  checkName(agent, 'agent')
  checkText(directory, 'directory', longestPath)
}

export function checkHolder(holder: Holder, field = 'holder'): Holder {
  if (!isPlainObject(holder)) throw new InvalidError(field, 'must say who holds it')
  checkName(holder.host, `${field}.host`)
  checkName(holder.boot, `${field}.boot`)
  checkCount(holder.pid, `${field}.pid`, 0, 2 ** 53 - 1)
  checkCount(holder.startedAt, `${field}.startedAt`, 0, 2 ** 53 - 1)
  return holder
}

const statuses = ['open', 'complete', 'interrupted', 'failed'] as const

/** The status that turns are asked for by, or null for any. */
export function checkStatus(status: unknown): (typeof statuses)[number] | null {
  return status === undefined ? null : checkChoice(status, 'status', statuses)
}

export function checkTurnStep(turn: TurnStep): TurnStep {
  checkName(turn.key, 'turn.key')
  checkCount(turn.step, 'turn.step', 0, 2 ** 31 - 1)
  if (turn.status !== undefined) {
    checkChoice(turn.status, 'turn.status', statuses)
  }
  if (turn.holder !== undefined) checkHolder(turn.holder, 'turn.holder')
  else if (turn.status === 'open') throw new InvalidError('turn.holder', 'must say who holds an open turn')
  if (turn.model !== undefined) checkName(turn.model, 'turn.model')
  if (turn.promptHash !== undefined) checkName(turn.promptHash, 'turn.promptHash')
  if (turn.usage !== undefined) checkUsage(turn.usage, 'turn.usage')
  return turn
}

export function checkTurnEnd(end: TurnEnd): TurnEnd {
  checkChoice(end.status, 'status', ['complete', 'interrupted', 'failed'])
  checkHolder(end.heldBy, 'heldBy')
  if (end.usage !== undefined) checkUsage(end.usage, 'usage')
  return end
}

export function checkUsage(usage: Usage, field: string): void {
  for (const kind of ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning'] as const) {
    if (usage[kind] !== undefined) checkCount(usage[kind], `${field}.${kind}`, 0, 2 ** 53 - 1)
  }
  if (usage.cost !== undefined && !(Number.isFinite(usage.cost) && usage.cost >= 0)) {
    throw new InvalidError(`${field}.cost`, 'must be a number that is not negative')
  }
}

export function checkPieces(pieces: NonEmpty<DraftPiece>): NonEmpty<DraftPiece> {
  checkNonEmpty(pieces, 'pieces')
  pieces.forEach((piece, i) => {
    if (!isPlainObject(piece)) throw new InvalidError(`pieces[${i}]`, 'must be a piece of a draft')
    checkCount(piece.n, `pieces[${i}].n`, 0, 2 ** 31 - 1)
    checkChoice(piece.type, `pieces[${i}].type`, ['text', 'thinking'])
    checkJson(piece.text, `pieces[${i}].text`)
    if (typeof piece.text !== 'string') throw new InvalidError(`pieces[${i}].text`, 'must be text')
  })
  return pieces
}

export const eventTypes: Record<NewEvent['type'], true> = {
  turn_started: true,
  turn_ended: true,
  tool_started: true,
  tool_ended: true,
  resume: true,
  permission: true,
  plan: true,
  channel_edit: true,
  channel_delete: true,
  degraded: true,
  recovered: true,
}

export function checkEvents(events: NonEmpty<NewEvent>): NonEmpty<NewEvent> {
  checkNonEmpty(events, 'events')
  events.forEach((event, i) => {
    if (!isPlainObject(event)) throw new InvalidError(`events[${i}]`, 'must be an event')
    checkChoice(event.type, `events[${i}].type`, Object.keys(eventTypes))
    if (event.at !== undefined) checkTime(event.at, `events[${i}].at`)
    if (event.data !== undefined) checkJsonObject(event.data, `events[${i}].data`, 16_777_216)
  })
  return events
}

export function checkEventListing(options: EventListing): EventListing {
  if (options.limit !== undefined) checkCount(options.limit, 'limit', 1, 100_000)
  if (options.after !== undefined) checkCount(options.after, 'after', -1, 2 ** 31 - 1)
  for (const type of options.types ?? []) checkChoice(type, 'types', Object.keys(eventTypes))
  return options
}

export function checkNewest(count: number | undefined): number | null {
  return count === undefined ? null : checkCount(count, 'newest', 1, 100_000)
}

export function checkRange<T extends Range>(range: T): T {
  messageId(range.first, 'range.first')
  messageId(range.last, 'range.last')
  return range
}

export function checkSummary(summary: NewSummary): NewSummary {
  checkRange(summary)
  checkText(summary.text, 'text', longestPrompt)
  checkCount(summary.tokens, 'tokens', 0, 2 ** 31 - 1)
  if (summary.model !== undefined) checkName(summary.model, 'model')
  checkHolder(summary.holder)
  return summary
}

export function checkFilter<T extends ConversationFilter>(filter: T): T {
  for (const link of ['channel', 'project', 'task'] as const) {
    if (filter[link] != null) checkName(filter[link], link)
  }
  if (filter.directory != null) checkText(filter.directory, 'directory', longestPath)
  if (filter.kind !== undefined) checkChoice(filter.kind, 'kind', ['main', 'subagent'])
  if (filter.keyPrefix !== undefined) checkText(filter.keyPrefix, 'keyPrefix', 512)
  if (filter.tag !== undefined) checkName(filter.tag, 'tag')
  if (filter.title !== undefined) checkText(filter.title, 'title', longestTitle)
  if (filter.updatedFrom !== undefined) checkTime(filter.updatedFrom, 'updatedFrom')
  if (filter.updatedBefore !== undefined) checkTime(filter.updatedBefore, 'updatedBefore')
  for (const [key, value] of Object.entries(filter.metadata ?? {})) {
    checkName(key, 'metadata')
    if (!['string', 'number', 'boolean'].includes(typeof value)) {
      throw new InvalidError(`metadata.${key}`, 'must be a string, a number, true or false')
    }
  }
  return filter.parent === undefined ? filter : { ...filter, parent: conversationId(filter.parent, 'parent') }
}

export function checkListing(options: ListConversations): ListConversations {
  if (options.limit !== undefined) checkCount(options.limit, 'limit', 1, 1_000)
  return checkFilter(options)
}

export function checkMessageListing(options: ListMessages): ListMessages {
  if (options.order !== undefined) checkChoice(options.order, 'order', ['ascending', 'descending'])
  if (options.limit !== undefined) checkCount(options.limit, 'limit', 1, 10_000)
  if (options.offset !== undefined) checkCount(options.offset, 'offset', 0, 2 ** 31 - 1)
  if (options.label !== undefined) checkName(options.label, 'label')
  for (const role of options.roles ?? []) {
    checkChoice(role, 'roles', ['user', 'assistant', 'tool_result', 'system'])
  }
  return { ...options, conversationId: conversationId(options.conversationId) }
}

export function checkSearch(options: SearchOptions): SearchOptions {
  if (options.limit !== undefined) checkCount(options.limit, 'limit', 1, 200)
  if (options.order !== undefined) checkChoice(options.order, 'order', ['newest', 'ranked'])
  if (options.snippetLength !== undefined) checkCount(options.snippetLength, 'snippetLength', 20, 2_000)
  if (options.directory !== undefined) checkText(options.directory, 'directory', longestPath)
  if (options.kind !== undefined) checkChoice(options.kind, 'kind', ['main', 'subagent'])
  return options
}
