import { blobHashesIn, decodeBody } from '../../core/body.ts'
import { checkName, latestTime } from '../../core/check.ts'
import { type Holder, InvalidError } from '../../core/errors.ts'
import { hashMessage, sha256Hex } from '../../core/hash.ts'
import { conversationId, messageId } from '../../core/ids.ts'
import { isPlainObject, typeName } from '../../core/json.ts'
import { roles } from '../../core/message.ts'
import { checkContent, longestBody } from '../../core/prepare.ts'
import type * as stored from '../../core/record.ts'
import * as f from './fields.ts'
import { each, type FieldCheck, type FieldTable, orNull, pickFields, required } from './fields.ts'
import * as input from './input.ts'
import { checkTaskRecord, taskRecordFields } from './task.ts'

type Prompt = NonNullable<stored.ConversationRecord['prompt']>
type Erased = NonNullable<stored.MessageRecord['erased']>

const ms = f.numberFrom(0, latestTime)
const unchecked = (value: unknown) => value
const spot = f.plainObject(
  'must be a seq and an id',
  pickFields<stored.MessagePosition>({ seq: f.checkInt32, id: messageId }),
)
const holder = pickFields<Holder>({ host: unchecked, boot: unchecked, pid: unchecked, startedAt: unchecked })
const prompt = f.plainObject(
  'must be an object',
  pickFields<Prompt>({ hash: unchecked, text: f.checkLongText }),
)
const erased = { at: ms, by: checkName, reason: f.checkReason }
const erasure = f.plainObject('must say when, by whom and why', pickFields<Erased>(erased))

/** Files of version 0.1 may have the policy `message`, which meant the same as `stored`. */
const checkRecordPolicy: FieldCheck = (value, field) =>
  input.settingFields.promptPolicy(value === 'message' ? 'stored' : value, field)

/** The errors of a draft name the list in which callers give its pieces. */
const inPieces =
  (check: FieldCheck): FieldCheck =>
  (value, field) =>
    check(value, `pieces[0].${field}`)

type Kind = stored.RecordKind
type RecordOf<K extends Kind> = Extract<stored.StoreRecord, { readonly kind: K }>

/** The fields of each kind. `kind` is added to what a table picks. */
const tables: { readonly [K in Kind]: FieldTable<Omit<RecordOf<K>, 'kind'>> } = {
  conversation: {
    id: conversationId,
    conversationKind: required((value: unknown) => input.checkKind(value, 'kind')),
    ...each(orNull, input.nullableFields),
    parent: orNull(f.plainObject('must be an object', input.checkParent)),
    prompt: orNull(prompt),
    ...each(required, { ...input.settingFields, promptPolicy: checkRecordPolicy }),
    activeBranch: checkName,
    tokensUsed: f.checkInt53,
    cost: f.checkCost,
    createdAt: ms,
    updatedAt: ms,
    ...each(orNull, { expiresAt: ms, ttlMs: input.checkTtl, renewMs: ms, trashedAt: ms }),
  },
  blob: { hash: f.checkHash, data: unchecked },
  message: {
    conversationId,
    seq: f.checkInt32,
    id: messageId,
    parentId: orNull(messageId),
    role: f.wordFrom(...roles),
    at: ms,
    tokens: f.checkInt32,
    ...each(orNull, { turn: messageId, step: f.checkInt32, label: checkName }),
    bodyHash: f.checkHash,
    body: unchecked,
    erased: unchecked,
  },
  tombstone: {
    conversationId,
    seq: f.checkInt32,
    id: messageId,
    parent: orNull(spot),
    at: ms,
    reason: orNull(f.checkReason),
  },
  turn: {
    conversationId,
    key: checkName,
    branch: checkName,
    status: input.checkTurnStatus,
    first: spot,
    last: spot,
    lastStep: f.checkInt32,
    model: orNull(checkName),
    promptHash: orNull(checkName),
    usage: f.jsonObject(65_536),
    holder: orNull(input.checkHolder),
    leaseUntil: orNull(ms),
    startedAt: ms,
    endedAt: orNull(ms),
  },
  draft: { conversationId, turn: checkName, ...each(inPieces, input.pieceFields) },
  summary: {
    conversationId,
    first: messageId,
    last: messageId,
    model: orNull(checkName),
    tokens: f.checkInt32,
    text: f.checkLongText,
    checksum: f.checkHash,
    createdAt: ms,
  },
  event: { conversationId, n: f.checkInt32, type: input.checkEventType, at: ms, data: f.checkEventData },
  branch: {
    conversationId,
    name: checkName,
    head: orNull(messageId),
    ...each(orNull, { key: checkName, formerKey: checkName, trashedKey: checkName, title: f.checkTitle }),
    createdAt: ms,
    updatedAt: ms,
  },
  agent_link: {
    conversationId,
    branch: checkName,
    agent: checkName,
    directory: f.checkPath,
    foreignId: checkName,
    seen: orNull(messageId),
    updatedAt: ms,
  },
  task: taskRecordFields,
}

/** Sets the field `kind` too, which is the name of the table. */
const pickers = Object.fromEntries(
  Object.entries(tables).map(([kind, table]) => [kind, pickFields<object>({ kind: unchecked, ...table })]),
) as Record<Kind, (record: object) => stored.StoreRecord>

/** Checks a record of any origin before an engine sees it. Its fields must be such as a store could have
 *  written, and its hashes are computed again. Returns the known fields. Throws InvalidError naming the
 *  field. */
export function checkRecord(record: unknown): stored.StoreRecord {
  if (!isPlainObject(record)) throw new InvalidError('record', `must be an object, got ${typeName(record)}`)
  const kind = record.kind as Kind
  if (!Object.hasOwn(tables, kind)) throw new InvalidError('kind', 'must be one of the kinds of the format')
  const checked = pickers[kind](record)
  switch (checked.kind) {
    case 'conversation':
      if (checked.prompt && sha256Hex(checked.prompt.text) !== checked.prompt.hash)
        throw new InvalidError('prompt.hash', 'is not the hash of its text')
      return checked
    case 'blob':
      if (!(checked.data instanceof Uint8Array)) throw new InvalidError('data', 'must be bytes')
      if (sha256Hex(checked.data) !== checked.hash)
        throw new InvalidError('hash', 'is not the hash of the data')
      return checked
    case 'message':
      return checkMessage(checked)
    case 'task':
      return checkTaskRecord(checked)
    case 'turn':
      if (checked.status === 'open' && checked.holder === null)
        throw new InvalidError('holder', 'must say who holds an open turn')
      input.checkUsage(checked.usage, 'usage')
      return { ...checked, holder: checked.holder && holder(checked.holder) }
    default:
      return checked
  }
}

function checkMessage(message: stored.MessageRecord): stored.MessageRecord {
  const { body, bodyHash, parentId, role, at } = message
  const isErased = body === null
  if (!isErased && message.erased !== null)
    throw new InvalidError('erased', 'must be null where there is a body')
  if (!isErased) checkBody(body, bodyHash)
  const erased = isErased ? erasure(message.erased as Erased, 'erased') : null
  if (hashMessage(parentId ?? message.conversationId, role, at, bodyHash) !== message.id)
    throw new InvalidError('id', 'is not the hash of parent, role, time and body')
  return erased === null ? message : { ...message, erased }
}

/** A body that hashes to its name and that every reader can read. */
function checkBody(body: unknown, bodyHash: string): void {
  if (typeof body !== 'string') throw new InvalidError('body', `must be text, got ${typeName(body)}`)
  if (body.length > longestBody)
    throw new InvalidError('body', `must be at most ${longestBody} characters long`)
  if (!body.isWellFormed()) throw new InvalidError('body', 'must be well-formed text')
  if (sha256Hex(body) !== bodyHash) throw new InvalidError('bodyHash', 'is not the hash of the body')
  const met = new Set<string>()
  let content: ReturnType<typeof decodeBody>
  try {
    content = decodeBody(body, hash => {
      met.add(hash)
      return { data: new Uint8Array(), bytes: 0 }
    })
  } catch {
    throw new InvalidError('body', 'is not the body of a message')
  }
  checkContent(content.blocks, content.meta ?? undefined, 'body', { content: 'blocks', metadata: 'meta' })
  const named = new Set(blobHashesIn(body))
  if (met.size !== named.size || ![...met].every(hash => named.has(hash)))
    throw new InvalidError('body', 'has a reference to a blob that is not written as the format wants it')
}
