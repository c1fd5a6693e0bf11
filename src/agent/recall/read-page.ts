import { isKnown, isMedia } from '../../core/block.ts'
import type { Branch } from '../../core/branch.ts'
import type { Conversation } from '../../core/conversation.ts'
import { NotFoundError } from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import { type Message, type Role, textOf } from '../../core/message.ts'
import { itemsOf } from '../../core/pages.ts'
import type { MessageReader, Resolved } from '../../core/ports.ts'
import { writePageMessage } from './page-text.ts'
import type { RecallStore } from './recall-digest.ts'

/** The input of `read_conversation`. */
export interface PageRequest {
  readonly id: string
  readonly from?: number | undefined
  readonly limit: number
  readonly offset: number
}

/** How much to read, and of what. */
export interface PageLimits {
  /** Most characters of the page as a text, about. */
  readonly maxChars: number
  /** A conversation that it refuses is not found. Default: all are read. */
  readonly mayRead?: (place: Resolved) => boolean | Promise<boolean>
}

/** A part of a conversation. `writePage` writes it as a text. */
export interface ConversationPage {
  readonly conversation: Conversation
  readonly branch: Branch
  /** The id by which the same path is found again. */
  readonly id: string
  /** The number of messages on the path. */
  readonly total: number
  /** Oldest first. */
  readonly messages: readonly PageMessage[]
  /** The number of the first message of the page before. Null if there is none. */
  readonly earlier: number | null
  /** The number of the first message of the next page. Null if there is none. */
  readonly later: number | null
  /** The answer of an open turn, as far as it has arrived. Null if the page does not end with one. */
  readonly unfinished: string | null
}

/** A message of a page. */
export interface PageMessage {
  readonly id: MessageId
  /** The depth of the message: the oldest has the number 0. */
  readonly number: number
  readonly role: Role
  readonly createdAt: Date
  /** The text, or a part of it. */
  readonly text: string
  /** Tools, attachments and errors, as in ` [used tools: read_file]`. '' without any. */
  readonly remarks: string
  /** Where the rest of the text begins. Null if this is all of it. */
  readonly continuesAt: number | null
  /** The length of the rest. Null if it is unknown, because only a preview was read. */
  readonly remaining: number | null
}

/** How many messages before the requested one a page begins: its question is often just before it. */
const before = 2
const mostText = 2_000
const mostResult = 500
/** Messages per read on the way back to a page. */
const stride = 500

/** Reads a part of a conversation: its newest messages, those around a message, or those from a number on.
 *  Reading near the end is cheap for any length of the conversation. Throws NotFoundError, AmbiguousIdError
 *  or InvalidError. */
export async function readPage(
  store: RecallStore,
  asked: PageRequest,
  { maxChars, mayRead = () => true }: PageLimits,
): Promise<ConversationPage> {
  const place = await store.resolve(asked.id)
  if (!(await mayRead(place))) throw new NotFoundError('id', asked.id)
  const { conversation, branch } = place
  const end = await endOf(store, place)
  const unfinished = await unfinishedAt(store, place)
  const empty = { conversation, branch, messages: [], earlier: null, later: null }
  if (end === null) return { ...empty, id: conversation.id, total: 0, unfinished }
  const total = end.last.depth + 1
  const first = asked.from ?? end.around ?? Math.max(0, total - asked.limit)
  if (first >= total) return { ...empty, id: end.name, total, unfinished }
  const messages = await readRange(store, end.last, first, Math.min(total, first + asked.limit))
  const alone = asked.limit === 1
  const shown = alone ? await store.getMessages(messages.map(({ id }) => id)) : messages
  const most = Math.max(200, maxChars - 400)
  const parts = shown.map((message, i) =>
    partOf(message, { offset: i === 0 ? asked.offset : 0, most: alone ? most : null }),
  )
  // Without a position, the newest messages matter most.
  const newestFirst = asked.from === undefined && end.around === null
  const texts = parts.map(part => writePageMessage(part, end.name))
  const [skipped, count] = fitting(texts, most, newestFirst)
  const [from, to] = [first + skipped, first + skipped + count]
  return {
    ...empty,
    id: end.name,
    total,
    messages: parts.slice(skipped, skipped + count),
    earlier: from > 0 ? Math.max(0, from - asked.limit) : null,
    later: to < total ? to : null,
    unfinished: to < total ? null : unfinished,
  }
}

/** The draft of the turn that is open on the branch. Its process may have died. */
async function unfinishedAt(
  store: Pick<MessageReader, 'listTurns' | 'readDraft'>,
  { conversation, branch, message }: Resolved,
): Promise<string | null> {
  if (message !== null) return null
  const { items } = await store.listTurns(conversation.id, { status: 'open' })
  const open = items.find(turn => turn.branch === branch.name)
  if (open === undefined) return null
  let text = ''
  for await (const piece of itemsOf(page => store.readDraft(conversation.id, open.key, page)))
    if (piece.type === 'text') text += piece.text
  return text.slice(-mostText)
}

interface End {
  /** The last message of the path. */
  readonly last: Message
  /** Where to begin by default, if a message was requested. */
  readonly around: number | null
  /** The id by which the same path is found again. */
  readonly name: string
}

/** Most branches to look for a message on. */
const mostBranches = 10

async function endOf(store: RecallStore, { conversation, branch, message }: Resolved): Promise<End | null> {
  const nameOf = (name: string) =>
    name === conversation.activeBranch ? conversation.id : `${conversation.id}:${name}`
  if (message === null) {
    return branch.head === null
      ? null
      : { last: await one(store, branch.head), around: null, name: nameOf(branch.name) }
  }
  const wanted = await one(store, message)
  const around = Math.max(0, wanted.depth - before)
  // The active branch is the most likely one. A message on no branch is the end of its own path.
  const active = await store.getBranch({ conversationId: conversation.id, name: conversation.activeBranch })
  const { items } = await store.listBranches(conversation.id, { limit: mostBranches })
  for (const { head, name } of [active, ...items.filter(one => !one.active)]) {
    if (head === null) continue
    const last = await one(store, head)
    if (await isOnPath(store, wanted, last)) return { last, around, name: nameOf(name) }
  }
  return { last: wanted, around, name: wanted.id }
}

async function isOnPath(store: RecallStore, wanted: Message, last: Message): Promise<boolean> {
  if (wanted.depth > last.depth) return false
  const [found] = await readRange(store, last, wanted.depth, wanted.depth + 1)
  return found?.id === wanted.id
}

async function one(store: RecallStore, id: MessageId): Promise<Message> {
  const [message] = await store.getMessages([id], { blobs: 'preview' })
  return message!
}

/** The messages of a path between two depths, read from its end backwards. */
async function readRange(
  store: RecallStore,
  last: Message,
  from: number,
  to: number,
): Promise<readonly Message[]> {
  let found: Message[] = []
  let end: MessageId | null = last.id
  while (end !== null) {
    const { messages } = await store.tail(end, { messages: stride }, { blobs: 'preview' })
    found = [...messages.filter(({ depth }) => depth >= from && depth < to), ...found]
    const oldest: Message | undefined = messages[0]
    end = oldest === undefined || oldest.depth <= from ? null : oldest.parentId
  }
  return found
}

/** How many texts to skip and to take so that they fit; takes at least one. */
function fitting(texts: readonly string[], most: number, newestFirst: boolean): readonly [number, number] {
  const order = newestFirst ? texts.toReversed() : texts
  let length = 0
  let count = 0
  for (const { length: next } of order) {
    if (count > 0 && length + next > most) break
    length += next + 2
    count++
  }
  return [newestFirst ? texts.length - count : 0, count]
}

interface PartOptions {
  readonly offset: number
  /** Most characters of the text; null for the default of its role. */
  readonly most: number | null
}

function partOf(message: Message, { offset, most }: PartOptions): PageMessage {
  const { id, role, depth, createdAt, erased } = message
  const text = erased ? '[erased]' : wordsOf(message)
  const granted = most ?? (role === 'tool_result' ? mostResult : mostText)
  const part = whole(text.slice(offset, offset + granted))
  const rest = text.length - offset - part.length
  const isPreview = message.blobs.some(ref => !ref.whole)
  return {
    id,
    number: depth,
    role,
    createdAt,
    text: part,
    remarks: remarksOf(message),
    continuesAt: rest > 0 || isPreview ? offset + part.length : null,
    remaining: isPreview ? null : Math.max(0, rest),
  }
}

function wordsOf(message: Message): string {
  if (message.role !== 'tool_result') return textOf(message)
  const outputs = message.content.flatMap(block => {
    if (!isKnown(block)) return []
    if (block.type === 'text') return [block.text]
    if (block.type !== 'tool_result') return []
    return [typeof block.output === 'string' ? block.output : JSON.stringify(block.output)]
  })
  return outputs.join('\n\n')
}

function remarksOf({ content, metadata }: Message): string {
  const known = content.filter(isKnown)
  const names = known.flatMap(block => (block.type === 'tool_call' ? [nameable(block.name)] : []))
  const attached = known.filter(isMedia).map(block => nameable(block.name ?? block.mime))
  const results = known.flatMap(block => (block.type === 'tool_result' ? [block] : []))
  const failed = results.some(({ isError }) => isError === true)
  return [
    ...(names.length > 0 ? [` [used tools: ${names.join(', ')}]`] : []),
    ...(attached.length > 0 ? [` [attached: ${attached.join(', ')}]`] : []),
    ...results.flatMap(({ name }) => (name === undefined ? [] : [` [result of ${nameable(name)}]`])),
    ...(failed ? [' [failed]'] : []),
    ...(metadata?.interrupted === true ? [' [interrupted: the answer is not complete]'] : []),
  ].join('')
}

/** A name that cannot break the remark around it. */
function nameable(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}_.:/@+-]+/gu, '_').slice(0, 64)
}

/** Drops half of a surrogate pair at the end. */
function whole(text: string): string {
  return text.replace(/[\ud800-\udbff]$/, '')
}
