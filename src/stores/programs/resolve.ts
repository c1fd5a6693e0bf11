import { AmbiguousIdError, type IdCandidate, InvalidError, NotFoundError } from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { BranchInConversation, Resolved } from '../../core/ports.ts'
import { first, later, type Program } from '../engine/engine.ts'
import { conversationFromRow, listedBranch } from '../engine/row-to-value.ts'
import { readBranchInConversation } from './conversations.ts'
import { isExpired } from './keys.ts'

export function* findByKey(key: string, now: number): Program<BranchInConversation | null> {
  const found = yield* first('foundByKey', { key })
  if (!found || isExpired(found, now)) return null
  const conversation = conversationFromRow(found)
  return { conversation, branch: listedBranch(found, found.branch_name) }
}

export function* findByAgentLink(agent: string, foreignId: string): Program<BranchInConversation | null> {
  const found = yield* first('conversationByLink', { agent, foreign_id: foreignId })
  return found ? yield* readBranchInConversation(found.id as ConversationId, found.name) : null
}

/** The shortest prefix of an id. A shorter one would soon be ambiguous. */
const shortestPrefix = 6

/** Resolves what a person typed: a key, `id:branch`, or the beginning of an id. */
export function* resolve(text: string): Program<Resolved> {
  const colon = text.indexOf(':')
  const prefix = colon < 0 ? text : text.slice(0, colon)
  const branch = colon < 0 ? null : text.slice(colon + 1)
  const idsLater = yield* idsWith(prefix)
  const byKey = yield* first('conversationByKey', { key: text })
  if (byKey)
    return { ...(yield* readBranchInConversation(byKey.id as ConversationId, byKey.name)), message: null }
  const ids = idsLater()
  // Only a conversation has branches.
  const candidates = branch === null ? ids : ids.filter(one => one.message === null)
  const [only] = candidates
  if (candidates.length > 1) throw new AmbiguousIdError(prefix, candidates.slice(0, 10).map(candidateOf))
  if (!only) {
    if (prefix.length < shortestPrefix && branch === null) {
      throw new InvalidError(
        'id',
        `${JSON.stringify(prefix)} is too short: ids need at least ${shortestPrefix} characters`,
      )
    }
    throw new NotFoundError('id', text)
  }
  return { ...(yield* readBranchInConversation(only.conversation, branch)), message: only.message }
}

/** A message, or a conversation if `message` is null. */
interface FoundId {
  readonly conversation: ConversationId
  readonly message: MessageId | null
}

function candidateOf({ conversation, message }: FoundId): IdCandidate {
  return message === null ? { kind: 'conversation', id: conversation } : { kind: 'message', id: message }
}

/** Reads the ids together with the next statement. */
function* idsWith(prefix: string): Program<() => readonly FoundId[]> {
  if (prefix.length < shortestPrefix) return () => []
  const lower = prefix.toLowerCase()
  const conversations = /^[0-9a-f-]{1,36}$/.test(lower)
    ? yield* later('conversationsByPrefix', { lo: lower, hi: after(lower) })
    : () => []
  const messages = /^[a-z2-7]{1,32}$/.test(prefix)
    ? yield* later('messagesByPrefix', { lo: prefix, hi: after(prefix) })
    : () => []
  return () => [
    ...conversations().map(row => ({ conversation: row.id as ConversationId, message: null })),
    ...messages().map(row => ({
      conversation: row.conversation_id as ConversationId,
      message: row.id as MessageId,
    })),
  ]
}

/** The first text after all texts with the prefix. Ids are ASCII, so the next character is enough. */
function after(prefix: string): string {
  return prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)
}

/** The first and the last of some ids. */
export interface IdRange {
  readonly first: string
  readonly last: string
}

/** The ids of conversations that begin with a text, in any case, or are equal to it. Null if none can. */
export function conversationIdsWith(text: string): IdRange | null {
  const lower = text.toLowerCase()
  const digits = lower.replaceAll('-', '')
  if (lower.length < shortestPrefix || !/^[0-9a-f]{1,32}$/.test(digits)) return null
  const [first, last] = [asUuid(digits.padEnd(32, '0')), asUuid(digits.padEnd(32, 'f'))]
  return first.startsWith(lower) ? { first, last } : null
}

function asUuid(digits: string): string {
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
