import { newestSummary } from '../../context/summary/newest-summary.ts'
import { asText } from '../../context/text/as-text.ts'
import { NotFoundError } from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import type { Message } from '../../core/message.ts'
import type { MessageReader } from '../../core/ports.ts'
import { withTurnStart } from '../../core/tail.ts'

/** How much of a conversation is injected (S4-15, S4-30). */
export interface InjectionLimits {
  /** Most messages. Default: 30; at most 50. */
  readonly messages: number
}

export const defaultInjection: InjectionLimits = { messages: 30 }

/** Never more than this, so no more are read. */
export const mostInjected = 50

/** The text that is injected for messages that an agent does not have. */
export interface HistoryText {
  /** Ends with a blank line: some agents join the blocks of a prompt without a separator. */
  readonly text: string
  /** Messages in the text, and older ones that it leaves out. */
  readonly messages: number
  readonly untold: number
}

/** The part of a store that is read for it. */
export type HistoryReader = Pick<MessageReader, 'tail' | 'getMessages' | 'listSummaries'>

/** The newest messages of a path. */
export interface NewestMessages {
  readonly messages: readonly Message[]
  /** The number of older messages. */
  readonly older: number
}

/** Reads the newest messages of the path that ends here. Long tool results are read as previews: they are not
 *  injected. */
export async function readNewest(store: HistoryReader, head: MessageId | null): Promise<NewestMessages> {
  if (head === null) return { messages: [], older: 0 }
  return withTurnStart(await store.tail(head, { messages: mostInjected }, { blobs: 'preview' }))
}

/** The text for these messages, which are the end of a path or a part of it; null if there is none. */
export async function historyText(
  store: HistoryReader,
  messages: readonly Message[],
  older: number,
  limits: InjectionLimits = defaultInjection,
): Promise<HistoryText | null> {
  const summary = older > 0 || messages.length > limits.messages ? await summaryOf(store, messages) : null
  const text = asText(messages, { messages: limits.messages, older, summary })
  if (text === '') return null
  const count = Math.min(messages.length, limits.messages, mostInjected)
  return { text: `${text}\n\n`, messages: count, untold: older + messages.length - count }
}

async function summaryOf(store: HistoryReader, messages: readonly Message[]) {
  const covering = await newestSummary(store, messages)
  return covering && { text: covering.summary.text, last: covering.summary.last }
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
