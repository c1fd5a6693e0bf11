import { newestSummary } from '../../context/summary/newest-summary.ts'
import { NotFoundError } from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import type { Message } from '../../core/message.ts'
import type { MessageReader } from '../../core/ports.ts'
import { withTurnStart } from '../../core/tail.ts'
import type { HistoryTextOptions } from './history-text.ts'

/** The part of a store that is read for an injected history. */
export type HistoryReader = Pick<MessageReader, 'tail' | 'getMessages' | 'listSummaries' | 'listPath'>

/** The newest messages of a path. */
export interface NewestMessages {
  readonly messages: readonly Message[]
  /** The number of older messages. */
  readonly older: number
}

/** Most messages to read for a history. Older ones would not fit into it. */
const mostRead = 2_000

/** How many messages are compared with a replay, besides those that the agent is not known to have. */
const compared = 50

/** Reads the newest messages of the path that ends here, with previews of long texts and results. */
export async function readNewest(store: HistoryReader, head: MessageId | null): Promise<NewestMessages> {
  if (head === null) return { messages: [], older: 0 }
  return withTurnStart(await store.tail(head, { messages: mostRead }, { blobs: 'preview' }))
}

/** Reads the messages that are compared with a replay: those after `seen`, and some before it. */
export async function readCompared(
  store: HistoryReader,
  unseen: number,
  head: MessageId,
): Promise<NewestMessages> {
  const messages = Math.min(mostRead, unseen + compared)
  return withTurnStart(await store.tail(head, { messages }, { blobs: 'preview' }))
}

/** How many of the newest results are read in full: an error is at the end of an output. */
const wholeResults = 10

/** Most other messages to read in full, the newest ones. */
const wholeTexts = 50

/** Replaces previews by whole messages, where their ends may be told: questions, answers and the newest
 *  results. */
export async function withWholeTexts(
  store: HistoryReader,
  messages: readonly Message[],
): Promise<readonly Message[]> {
  const cut = messages.filter(({ blobs }) => blobs.some(({ whole }) => !whole))
  const results = cut.filter(({ role }) => role === 'tool_result').slice(-wholeResults)
  const texts = cut.filter(({ role }) => role !== 'tool_result').slice(-wholeTexts)
  const ids = [...results, ...texts].map(({ id }) => id)
  if (ids.length === 0) return messages
  const whole = new Map((await store.getMessages(ids)).map(message => [message.id, message]))
  return messages.map(message => whole.get(message.id) ?? message)
}

/** What a history needs besides the messages: the first question and the newest summary. */
export async function readBeginning(
  store: HistoryReader,
  messages: readonly Message[],
  older: number,
): Promise<Pick<HistoryTextOptions, 'first' | 'summary'>> {
  const oldest = messages[0]
  if (!oldest) return {}
  const covering = await newestSummary(store, messages)
  const summary = covering ? { text: covering.summary.text, last: covering.summary.last } : null
  if (older === 0 || oldest.parentId === null) return { summary }
  const { items } = await store.listPath(oldest.parentId, { limit: 20 })
  return { summary, first: items.find(({ role }) => role === 'user') ?? null }
}

/** The messages after `seen` on the path to `head`; null if `seen` is not on it, or was deleted. */
export async function messagesAfter(
  store: HistoryReader,
  seen: MessageId,
  head: MessageId | null,
): Promise<readonly Message[] | null> {
  if (head === null) return null
  if (seen === head) return []
  const [last] = await store.getMessages([head], { blobs: 'preview' })
  const before = await storedOrNull(store, seen)
  if (before === null) return null
  const distance = last!.depth - before.depth
  if (before.conversationId !== last!.conversationId || distance <= 0) return null
  // A tail begins with a turn, and the turn of `seen` may be long.
  for (const more of [1, 100, before.depth + 1]) {
    const { messages, older } = await store.tail(head, { messages: distance + more }, { blobs: 'preview' })
    const at = messages.findIndex(({ parentId }) => parentId === seen)
    if (at !== -1) return messages.slice(at)
    if (messages.some(({ depth }) => depth <= before.depth) || older === 0) return null
  }
  return null
}

async function storedOrNull(store: HistoryReader, id: MessageId): Promise<Message | null> {
  try {
    return (await store.getMessages([id], { blobs: 'preview' }))[0]!
  } catch (error) {
    if (error instanceof NotFoundError) return null
    throw error
  }
}
