import { newestSummary } from '../../context/summary/newest-summary.ts'
import { asText } from '../../context/text/as-text.ts'
import { NotFoundError } from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import type { Message } from '../../core/message.ts'
import type { MessageReader } from '../../core/ports.ts'

/** How much of a conversation an agent is told, in messages (S4-15, S4-30). */
export interface InjectionLimits {
  /** 30 unless said otherwise, 50 at most. */
  readonly messages: number
}

export const defaultInjection: InjectionLimits = { messages: 30 }

/** More are never told, and so never looked at. */
export const mostInjected = 50

/** What an agent is told of a conversation that it does not know, or not all of. */
export interface HistoryText {
  /** Ends with a blank line, because some agents join the blocks of a prompt without anything in between. */
  readonly text: string
  /** Messages that it was made of, and those before them that it was not. */
  readonly messages: number
  readonly untold: number
}

/** What finding out needs of a store. */
export type HistoryReader = Pick<MessageReader, 'tail' | 'getMessages' | 'listSummaries'>

/** The end of a path, as much of it as an agent may be told. */
export interface NewestMessages {
  readonly messages: readonly Message[]
  /** Messages before those. */
  readonly older: number
}

/** The newest messages of the path that ends here. Long results are not told, so that they are not read. */
export async function readNewest(store: HistoryReader, head: MessageId | null): Promise<NewestMessages> {
  if (head === null) return { messages: [], older: 0 }
  return store.tail(head, { messages: mostInjected }, { blobs: 'preview' })
}

/** The text for these messages, which are the end of a path or a part of it; null if there is nothing to
 *  tell. */
export async function historyText(
  store: HistoryReader,
  messages: readonly Message[],
  older: number,
  limits: InjectionLimits = defaultInjection,
): Promise<HistoryText | null> {
  const summary = older > 0 || messages.length > limits.messages ? await summaryOf(store, messages) : null
  const text = asText(messages, { messages: limits.messages, older, summary })
  if (text === '') return null
  const told = Math.min(messages.length, limits.messages, mostInjected)
  return { text: `${text}\n\n`, messages: told, untold: older + messages.length - told }
}

async function summaryOf(store: HistoryReader, messages: readonly Message[]) {
  const covering = await newestSummary(store, messages)
  return covering && { text: covering.summary.text, last: covering.summary.last }
}

/** The messages of the path to `head` that come after `seen`; null if `seen` is not on that path, or was
 *  deleted. */
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
  // A tail begins with a turn, and the one that `seen` stands in may reach far back.
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
