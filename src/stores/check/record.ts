import { blobHashesIn, decodeBody } from '../../core/body.ts'
import {
  checkChoice,
  checkCount,
  checkJsonObject,
  checkName,
  checkText,
  isPlainObject,
  kindOf,
  latestTime,
} from '../../core/check.ts'
import { type Holder, InvalidError } from '../../core/errors.ts'
import { hashMessage, sha256Hex } from '../../core/hash.ts'
import { conversationId, type MessageId, messageId } from '../../core/ids.ts'
import { checkContent, longestBody } from '../../core/prepare.ts'
import type * as stored from '../../core/stored.ts'
import {
  checkHolder,
  checkNew,
  checkPieces,
  checkUsage,
  eventTypes,
  longestPath,
  longestPrompt,
  longestSpan,
  longestTitle,
} from './input.ts'

/** A record that came from anywhere, checked before anything is asked of an engine: what it says must be what a store
 *  could have written, and what it hashes to must be what it is called. Returns the known fields, and throws InvalidError
 *  naming the one that is wrong. */
export function checkStored(record: unknown): stored.StoredRecord {
  if (!isPlainObject(record)) throw new InvalidError('record', `must be an object, got ${kindOf(record)}`)
  const given = record as unknown as stored.StoredRecord
  switch (given.kind) {
    case 'conversation':
      return checkConversation(given)
    case 'blob':
      return checkBlob(given)
    case 'message':
      return checkMessage(given)
    case 'tombstone':
      return {
        kind: 'tombstone',
        conversationId: conversationId(given.conversationId, 'conversationId'),
        seq: checkNumber(given.seq, 'seq'),
        id: messageId(given.id, 'id'),
        parent: given.parent === null ? null : checkSpot(given.parent, 'parent'),
        at: checkMs(given.at, 'at'),
        reason: given.reason === null ? null : checkText(given.reason, 'reason', 2_000),
      }
    case 'turn':
      return checkTurn(given)
    case 'draft':
      checkPieces([{ n: given.n, type: given.type, text: given.text }])
      return {
        kind: 'draft',
        conversationId: conversationId(given.conversationId, 'conversationId'),
        turn: checkName(given.turn, 'turn'),
        n: given.n,
        type: given.type,
        text: given.text,
      }
    case 'summary':
      return {
        kind: 'summary',
        conversationId: conversationId(given.conversationId, 'conversationId'),
        first: messageId(given.first, 'first'),
        last: messageId(given.last, 'last'),
        model: nameOrNull(given.model, 'model'),
        tokens: checkNumber(given.tokens, 'tokens'),
        text: checkText(given.text, 'text', longestPrompt),
        checksum: checkHash(given.checksum, 'checksum'),
        createdAt: checkMs(given.createdAt, 'createdAt'),
      }
    case 'event':
      checkJsonObject(given.data, 'data', 16_777_216)
      return {
        kind: 'event',
        conversationId: conversationId(given.conversationId, 'conversationId'),
        n: checkNumber(given.n, 'n'),
        type: checkChoice(given.type, 'type', Object.keys(eventTypes) as stored.StoredEvent['type'][]),
        at: checkMs(given.at, 'at'),
        data: given.data,
      }
    case 'branch':
      return checkBranch(given)
    case 'agent_link':
      return {
        kind: 'agent_link',
        conversationId: conversationId(given.conversationId, 'conversationId'),
        branch: checkName(given.branch, 'branch'),
        agent: checkName(given.agent, 'agent'),
        directory: checkText(given.directory, 'directory', longestPath),
        foreignId: checkName(given.foreignId, 'foreignId'),
        seen: given.seen === null ? null : messageId(given.seen, 'seen'),
        updatedAt: checkMs(given.updatedAt, 'updatedAt'),
      }
    default:
      given satisfies never
      throw new InvalidError('kind', 'must be one of the kinds of the format')
  }
}

function checkConversation(given: stored.StoredConversation): stored.StoredConversation {
  const { prompt, parent } = given
  if (prompt !== null) {
    if (!isPlainObject(prompt)) throw new InvalidError('prompt', 'must be an object')
    checkText(prompt.text, 'prompt.text', longestPrompt)
    if (sha256Hex(prompt.text) !== prompt.hash)
      throw new InvalidError('prompt.hash', 'is not the hash of its text')
  }
  if (parent !== null && !isPlainObject(parent)) throw new InvalidError('parent', 'must be an object')
  const links = {
    title: textOrNull(given.title, 'title', longestTitle),
    model: nameOrNull(given.model, 'model'),
    label: nameOrNull(given.label, 'label'),
    channel: nameOrNull(given.channel, 'channel'),
    directory: textOrNull(given.directory, 'directory', longestPath),
    project: nameOrNull(given.project, 'project'),
    task: nameOrNull(given.task, 'task'),
    owner: nameOrNull(given.owner, 'owner'),
  }
  const { promptPolicy, toolResults, metadata, tags } = given
  const checked = checkNew({
    id: given.id,
    kind: required(given.conversationKind, 'conversationKind'),
    promptPolicy: required(promptPolicy, 'promptPolicy'),
    toolResults: required(toolResults, 'toolResults'),
    metadata: required(metadata, 'metadata'),
    tags: required(tags, 'tags'),
    ...(parent === null ? {} : { parent }),
  })
  return {
    kind: 'conversation',
    id: conversationId(given.id, 'id'),
    conversationKind: checked.kind,
    ...links,
    parent: checked.parent ?? null,
    promptPolicy,
    prompt: prompt && { hash: prompt.hash, text: prompt.text },
    toolResults,
    metadata,
    tags,
    activeBranch: checkName(given.activeBranch, 'activeBranch'),
    tokensUsed: checkCount(given.tokensUsed, 'tokensUsed', 0, 2 ** 53 - 1),
    cost: checkCost(given.cost),
    createdAt: checkMs(given.createdAt, 'createdAt'),
    updatedAt: checkMs(given.updatedAt, 'updatedAt'),
    expiresAt: msOrNull(given.expiresAt, 'expiresAt'),
    ttlMs: given.ttlMs === null ? null : checkCount(given.ttlMs, 'ttlMs', 1, longestSpan),
    renewMs: msOrNull(given.renewMs, 'renewMs'),
    trashedAt: msOrNull(given.trashedAt, 'trashedAt'),
  }
}

function checkBlob(given: stored.StoredBlob): stored.StoredBlob {
  checkHash(given.hash, 'hash')
  if (!(given.data instanceof Uint8Array)) throw new InvalidError('data', 'must be bytes')
  if (sha256Hex(given.data) !== given.hash) throw new InvalidError('hash', 'is not the hash of the data')
  return { kind: 'blob', hash: given.hash, data: given.data }
}

const roles: readonly stored.StoredMessage['role'][] = ['user', 'assistant', 'tool_result', 'system']

function checkMessage(given: stored.StoredMessage): stored.StoredMessage {
  const { body, bodyHash, erased } = given
  const conversation = conversationId(given.conversationId, 'conversationId')
  const id = messageId(given.id, 'id')
  const parentId = given.parentId === null ? null : messageId(given.parentId, 'parentId')
  const role = checkChoice(given.role, 'role', roles)
  const at = checkMs(given.at, 'at')
  checkHash(bodyHash, 'bodyHash')
  if (body === null) checkErasure(erased)
  else {
    if (erased !== null) throw new InvalidError('erased', 'must be null where there is a body')
    checkBody(body, bodyHash)
  }
  if (hashMessage(parentId ?? conversation, role, at, bodyHash) !== id)
    throw new InvalidError('id', 'is not the hash of parent, role, time and body')
  return {
    kind: 'message',
    conversationId: conversation,
    seq: checkNumber(given.seq, 'seq'),
    id,
    parentId,
    role,
    at,
    tokens: checkNumber(given.tokens, 'tokens'),
    turn: given.turn === null ? null : messageId(given.turn, 'turn'),
    step: given.step === null ? null : checkNumber(given.step, 'step'),
    label: nameOrNull(given.label, 'label'),
    bodyHash,
    body,
    erased: erased && { at: erased.at, by: erased.by, reason: erased.reason },
  }
}

function checkErasure(erased: stored.StoredMessage['erased']): void {
  if (!isPlainObject(erased)) throw new InvalidError('erased', 'must say when, by whom and why')
  checkMs(erased.at, 'erased.at')
  checkName(erased.by, 'erased.by')
  checkText(erased.reason, 'erased.reason', 2_000)
}

/** A body that hashes to its name, and that every reader can read. */
function checkBody(body: unknown, bodyHash: string): void {
  if (typeof body !== 'string') throw new InvalidError('body', `must be text, got ${kindOf(body)}`)
  if (body.length > longestBody)
    throw new InvalidError('body', `must be at most ${longestBody} characters long`)
  if (!body.isWellFormed()) throw new InvalidError('body', 'must be well-formed text')
  if (sha256Hex(body) !== bodyHash) throw new InvalidError('bodyHash', 'is not the hash of the body')
  const met = new Set<string>()
  let content: ReturnType<typeof decodeBody>
  try {
    content = decodeBody(body, hash => {
      met.add(hash)
      return nothing
    })
  } catch {
    throw new InvalidError('body', 'is no body of a message')
  }
  checkContent(content.blocks, content.meta ?? undefined, 'body')
  const named = new Set(blobHashesIn(body))
  if (met.size !== named.size || ![...met].every(hash => named.has(hash)))
    throw new InvalidError('body', 'has a reference to a blob that is not written as the format wants it')
}

const nothing = { data: new Uint8Array(), bytes: 0 }

function checkTurn(given: stored.StoredTurn): stored.StoredTurn {
  const { holder, usage } = given
  if (given.status === 'open' && holder === null)
    throw new InvalidError('holder', 'must say who holds an open turn')
  checkJsonObject(usage, 'usage', 65_536)
  checkUsage(usage, 'usage')
  return {
    kind: 'turn',
    conversationId: conversationId(given.conversationId, 'conversationId'),
    key: checkName(given.key, 'key'),
    branch: checkName(given.branch, 'branch'),
    status: checkChoice(given.status, 'status', ['open', 'complete', 'interrupted', 'failed']),
    first: checkSpot(given.first, 'first'),
    last: checkSpot(given.last, 'last'),
    lastStep: checkNumber(given.lastStep, 'lastStep'),
    model: nameOrNull(given.model, 'model'),
    promptHash: nameOrNull(given.promptHash, 'promptHash'),
    usage,
    holder: holder === null ? null : pickHolder(checkHolder(holder)),
    leaseUntil: msOrNull(given.leaseUntil, 'leaseUntil'),
    startedAt: checkMs(given.startedAt, 'startedAt'),
    endedAt: msOrNull(given.endedAt, 'endedAt'),
  }
}

function pickHolder({ host, boot, pid, startedAt }: Holder): Holder {
  return { host, boot, pid, startedAt }
}

function checkBranch(given: stored.StoredBranch): stored.StoredBranch {
  return {
    kind: 'branch',
    conversationId: conversationId(given.conversationId, 'conversationId'),
    name: checkName(given.name, 'name'),
    head: given.head === null ? null : messageId(given.head, 'head'),
    key: nameOrNull(given.key, 'key'),
    formerKey: nameOrNull(given.formerKey, 'formerKey'),
    trashedKey: nameOrNull(given.trashedKey, 'trashedKey'),
    title: textOrNull(given.title, 'title', longestTitle),
    createdAt: checkMs(given.createdAt, 'createdAt'),
    updatedAt: checkMs(given.updatedAt, 'updatedAt'),
  }
}

function checkSpot(given: unknown, field: string): stored.Spot {
  if (!isPlainObject(given)) throw new InvalidError(field, 'must be a seq and an id')
  const { seq, id } = given
  return { seq: checkNumber(seq, `${field}.seq`), id: messageId(id as MessageId, `${field}.id`) }
}

/** What fits PostgreSQL's smaller whole numbers: seqs, steps, tokens of a message. */
function checkNumber(value: unknown, field: string): number {
  return checkCount(value, field, 0, 2 ** 31 - 1)
}

function checkMs(value: unknown, field: string): number {
  return checkCount(value, field, 0, latestTime)
}

function msOrNull(value: number | null, field: string): number | null {
  return value === null ? null : checkMs(value, field)
}

function nameOrNull(value: string | null, field: string): string | null {
  return value === null ? null : checkName(value, field)
}

function textOrNull(value: string | null, field: string, most: number): string | null {
  return value === null ? null : checkText(value, field, most)
}

function checkHash(value: unknown, field: string): string {
  if (typeof value !== 'string' || !/^[0-9a-f]{64}$/.test(value))
    throw new InvalidError(field, 'must be SHA-256 in lower-case hex')
  return value
}

function checkCost(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0)
    throw new InvalidError('cost', 'must be a number that is not negative')
  return value
}

function required<T>(value: T, field: string): NonNullable<T> {
  if (value === undefined || value === null) throw new InvalidError(field, 'is missing')
  return value
}
