import { type Block, isKnown, type KnownBlock } from './block.ts'
import { type Body, encodeBody } from './body.ts'
import { checkChoice, checkCount, checkName, checkNonEmpty, checkTime } from './check.ts'
import { InvalidError } from './errors.ts'
import { checkJson, isPlainObject, type JsonObject, typeName } from './json.ts'
import { type NewMessage, type NonEmpty, type Role, textOf } from './message.ts'
import { titleFrom } from './title.ts'
import { estimateTokens, mostTokens } from './tokens.ts'

/** A checked message, before it gets its place and its id. */
export interface PreparedMessage {
  /** One of the four stored roles. */
  readonly role: Role
  /** Content and metadata, as stored. */
  readonly body: Body
  /** Null means now. */
  readonly time: number | null
  /** An estimate, unless the caller has given a count. */
  readonly tokens: number
  /** The label of the message, or null. */
  readonly label: string | null
  /** The text of a user message. Null for other roles. */
  readonly said: string | null
}

/** Checks messages and makes their stored form. Throws InvalidError naming the field. */
export function prepareMessages(
  messages: readonly NewMessage[],
  field = 'messages',
): readonly [PreparedMessage, ...PreparedMessage[]] {
  checkNonEmpty(messages, field)
  return messages.map((message, i) =>
    prepareMessage(message, `${field}[${i}]`),
  ) as unknown as NonEmpty<PreparedMessage>
}

export function prepareMessage(message: NewMessage, field: string): PreparedMessage {
  const role = checkRole(message, field)
  checkContent(message.content, message.metadata, field)
  const { time, tokens, label } = readFields(message, field)
  return {
    role,
    body: bodyOf(message, field),
    time,
    tokens: tokens ?? estimateTokens(message.content),
    label,
    said: role === 'user' ? textOf(message) : null,
  }
}

/** Checks that this is a message without unknown fields, and returns its role. */
export function checkRole(message: NewMessage, field: string): Role {
  if (!isPlainObject(message)) throw new InvalidError(field, `must be a message, got ${typeName(message)}`)
  checkNames(message, field)
  return readRole(message.role, `${field}.role`)
}

/** The short fields of a message. Null if it does not have them. */
export function readFields({ createdAt, tokens, label }: NewMessage, field: string) {
  return {
    time: createdAt === undefined ? null : checkTime(createdAt, `${field}.createdAt`),
    tokens: tokens === undefined ? null : checkCount(tokens, `${field}.tokens`, 0, mostTokens),
    label: label === undefined ? null : checkName(label, `${field}.label`),
  }
}

const messageFields: Record<keyof NewMessage, true> = {
  role: true,
  content: true,
  metadata: true,
  createdAt: true,
  tokens: true,
  label: true,
}

/** Refuses a field that would not be stored, such as a misspelt `metadta`: the words in it would be lost. */
function checkNames(message: NewMessage, field: string): void {
  for (const name in message) {
    if (Object.hasOwn(messageFields, name)) continue
    const known = Object.keys(messageFields).join(', ')
    throw new InvalidError(`${field}.${name}`, `unknown field; a message has ${known}. Put it into metadata`)
  }
}

/** The longest body without its blobs, in UTF-16 units. */
export const longestBody = 67_108_864

/** Each string is within its limit. All of them together may still exceed what one string can hold. */
function bodyOf(message: NewMessage, field: string): Body {
  let body: Body | undefined
  try {
    body = encodeBody(message.content, message.metadata as JsonObject | undefined)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  if (body && body.text.length <= longestBody) return body
  throw tooLong(field)
}

/** The error of a body that is too long without its blobs. */
export function tooLong(field: string): InvalidError {
  const most = `must be at most ${longestBody} characters of JSON, large strings apart`
  return new InvalidError(`${field}.content`, most)
}

/** The title that these messages give to a conversation without one. */
export function titleOfMessages(messages: readonly PreparedMessage[]): string | null {
  for (const { said } of messages) {
    const title = said === null ? null : titleFrom(said)
    if (title !== null) return title
  }
  return null
}

/** Reads a role as other systems write it. */
export function readRole(role: unknown, field: string): Role {
  switch (role) {
    case 'user':
    case 'assistant':
    case 'tool_result':
    case 'system':
      return role
    case 'tool':
      return 'tool_result'
    case 'developer':
      return 'system'
    default:
      throw new InvalidError(field, 'must be user, assistant, tool_result (or tool), system (or developer)')
  }
}

/** Accepts the content of a message. Throws InvalidError naming the field: `body.meta` of a stored body,
 *  `messages[1].metadata` of a given message. */
export function checkContent(content: unknown, metadata: unknown, field: string, names = givenNames): void {
  checkBlocks(content, `${field}.${names.content}`, checkJson)
  checkMetadata(metadata, `${field}.${names.metadata}`, checkJson)
}

/** The same for values that are known to be JSON. */
export function checkShape(content: unknown, metadata: unknown, field: string): void {
  checkBlocks(content, `${field}.${givenNames.content}`, accept)
  checkMetadata(metadata, `${field}.${givenNames.metadata}`, accept)
}

const givenNames = { content: 'content', metadata: 'metadata' }

type CheckValue = (value: unknown, field: string) => void

const accept: CheckValue = () => undefined

function checkMetadata(metadata: unknown, field: string, check: CheckValue): void {
  if (metadata === undefined) return
  if (!isPlainObject(metadata))
    throw new InvalidError(field, `must be a JSON object, got ${typeName(metadata)}`)
  check(metadata, field)
}

function checkBlocks(blocks: unknown, field: string, check: CheckValue): void {
  if (typeof blocks === 'string') {
    check(blocks, field)
    return
  }
  if (!Array.isArray(blocks))
    throw new InvalidError(field, `must be a string or a list of blocks, got ${typeName(blocks)}`)
  for (let i = 0; i < blocks.length; i++) checkBlock(blocks[i], `${field}[${i}]`, check)
}

function checkBlock(block: unknown, field: string, check: CheckValue): void {
  if (!isPlainObject(block)) throw new InvalidError(field, `must be an object, got ${typeName(block)}`)
  if (typeof block.type !== 'string' || block.type === '')
    throw new InvalidError(`${field}.type`, 'must be a non-empty string')
  check(block, field)
  const candidate = block as Block
  if (isKnown(candidate)) checkKnownFields(candidate, field)
}

function checkKnownFields(block: KnownBlock, field: string): void {
  if (block.metadata !== undefined && !isPlainObject(block.metadata)) {
    throw new InvalidError(`${field}.metadata`, 'must be a JSON object')
  }
  if (block.mime !== undefined) checkString(block.mime, `${field}.mime`)
  if (block.modality !== undefined) checkChoice(block.modality, `${field}.modality`, modalities)
  switch (block.type) {
    case 'text':
    case 'thinking':
      checkString(block.text, `${field}.text`)
      return
    case 'tool_call':
      checkString(block.callId, `${field}.callId`)
      checkString(block.name, `${field}.name`)
      checkPresent(block.input, `${field}.input`)
      return
    case 'tool_result':
      checkString(block.callId, `${field}.callId`)
      if (block.name !== undefined) checkString(block.name, `${field}.name`)
      if (block.isError !== undefined && typeof block.isError !== 'boolean') {
        throw new InvalidError(`${field}.isError`, 'must be true or false')
      }
      checkPresent(block.output, `${field}.output`)
      return
    case 'image':
    case 'audio':
    case 'video':
    case 'file':
      checkString(block.mime, `${field}.mime`)
      if (block.name !== undefined) checkString(block.name, `${field}.name`)
      if (block.url !== undefined) checkString(block.url, `${field}.url`)
      if (block.data !== undefined) checkString(block.data, `${field}.data`)
      else if (block.url === undefined) throw new InvalidError(field, 'must have data or a url')
      return
    default:
      block satisfies never
  }
}

const modalities: readonly NonNullable<KnownBlock['modality']>[] = ['text', 'image', 'audio', 'video']

function checkString(value: unknown, field: string): void {
  if (typeof value !== 'string') throw new InvalidError(field, `must be a string, got ${typeName(value)}`)
}

function checkPresent(value: unknown, field: string): void {
  if (value === undefined) throw new InvalidError(field, 'is missing')
}
