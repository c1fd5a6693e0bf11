import { fence, guardAfterLabel, guardLine } from '../../context/text/guard-lines.ts'
import { type Block, isKnown, isMedia } from '../../core/block.ts'
import { NotFoundError } from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import { type Message, type Role, textOf } from '../../core/message.ts'
import type { Resolved } from '../../core/ports.ts'
import { titleFrom } from '../../core/title.ts'
import type { RecallStore } from './recall-digest.ts'

/** The input of `read_conversation`. */
export interface PageRequest {
  readonly id: string
  readonly from?: number | undefined
  readonly limit: number
  readonly offset: number
}

/** How many messages before the requested one a page begins: its question is often just before it. */
const before = 2
const mostText = 2_000
const mostResult = 500
/** Messages per read on the way back to a page. */
const stride = 500

/** A part of a conversation as text, with roles, numbers and times, of about `maxChars` characters at most.
 *  It is in a fence that stored text cannot close, and ends with a hint how to read more. Reading near the
 *  end is cheap for any length of the conversation. A conversation outside of `directories` is not found.
 *  Throws NotFoundError, AmbiguousIdError or InvalidError. */
export async function readPage(
  store: RecallStore,
  asked: PageRequest,
  maxChars: number,
  directories: readonly string[] | null = null,
): Promise<string> {
  const place = await store.resolve(asked.id)
  const { directory } = place.conversation
  const isOutside = directories !== null && (directory === null || !directories.includes(directory))
  if (isOutside) throw new NotFoundError('id', asked.id)
  const end = await endOf(store, place)
  const heading = headingOf(place)
  if (end === null) return `${heading}\nIt has no messages.`
  const total = end.last.depth + 1
  const first = asked.from ?? end.around ?? Math.max(0, total - asked.limit)
  if (first >= total) return `${heading}\nIt has ${total} messages: the last is #${total - 1}.`
  const messages = await readRange(store, end.last, first, Math.min(total, first + asked.limit))
  const alone = asked.limit === 1
  const shown = alone ? await store.getMessages(messages.map(({ id }) => id)) : messages
  const most = Math.max(200, maxChars - 400)
  const written = shown.map((message, i) =>
    writeMessage(message, { offset: i === 0 ? asked.offset : 0, most: alone ? most : null, id: end.name }),
  )
  // Without a position, the newest messages matter most.
  const newestFirst = asked.from === undefined && end.around === null
  const [skipped, count] = fitting(written, most, newestFirst)
  const lines = written.slice(skipped, skipped + count).join('\n\n')
  const [from, to] = [first + skipped, first + skipped + count]
  const range = count === 1 ? `message #${from}` : `messages #${from} to #${to - 1}`
  const hints = [
    ...(from > 0 ? [`Earlier: from ${Math.max(0, from - asked.limit)}.`] : []),
    ...(to < total ? [`Later: from ${to}.`] : []),
  ]
  const more =
    hints.length === 0
      ? []
      : [`To read on, read_conversation with id ${quoted(end.name)}. ${hints.join(' ')}`]
  return [`${heading} Here: ${range} of ${total}.`, `<${fence}>`, lines, `</${fence}>`, ...more].join('\n')
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

function headingOf({ conversation, branch }: Resolved): string {
  const title = titleFrom(conversation.title ?? '')
  const named = title === null ? '' : ` ${quoted(title)}`
  const kind = conversation.kind === 'main' ? '' : ' of a subagent'
  const where = branch.name === 'main' ? '' : `, branch ${quoted(branch.name)}`
  return `Conversation ${conversation.id}${kind}${named}${where}, begun ${conversation.createdAt.toISOString()}.`
}

/** Names and titles are stored text, too. */
function quoted(text: string): string {
  return guardAfterLabel(JSON.stringify(text))
}

interface Writing {
  readonly offset: number
  /** Most characters of the text; null for the default of its role. */
  readonly most: number | null
  readonly id: string
}

/** The label is on a line of its own. The guard recognizes it, so that stored text cannot imitate it. */
function writeMessage(message: Message, { offset, most, id }: Writing): string {
  const { role, depth, createdAt, erased } = message
  const text = erased ? '[erased]' : wordsOf(message)
  const granted = most ?? (role === 'tool_result' ? mostResult : mostText)
  const part = whole(text.slice(offset, offset + granted))
  const rest = text.length - offset - part.length
  const unread = message.blobs.some(ref => !ref.whole)
  const onward = `read_conversation with id ${quoted(id)}, from ${depth}, limit 1 and offset ${offset + part.length} reads on`
  const cut =
    rest > 0 || unread ? [`[${unread ? 'more follows' : `${rest} more characters`}: ${onward}]`] : []
  const label = `${labels[role]}: (#${depth}, ${createdAt.toISOString()})${remarksOf(message.content)}`
  return [label, ...(part === '' ? [] : [guardLine(part)]), ...cut].join('\n')
}

const labels: Record<Role, string> = {
  user: 'User',
  assistant: 'Assistant',
  system: 'System',
  tool_result: 'Tool',
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

function remarksOf(blocks: readonly Block[]): string {
  const known = blocks.filter(isKnown)
  const names = known.flatMap(block => (block.type === 'tool_call' ? [nameable(block.name)] : []))
  const attached = known.filter(isMedia).map(block => nameable(block.name ?? block.mime))
  const results = known.flatMap(block => (block.type === 'tool_result' ? [block] : []))
  const failed = results.some(({ isError }) => isError === true)
  return [
    ...(names.length > 0 ? [` [used tools: ${names.join(', ')}]`] : []),
    ...(attached.length > 0 ? [` [attached: ${attached.join(', ')}]`] : []),
    ...results.flatMap(({ name }) => (name === undefined ? [] : [` [result of ${nameable(name)}]`])),
    ...(failed ? [' [failed]'] : []),
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
