import { encodeBody } from '../../core/body.ts'
import type { Conversation } from '../../core/conversation.ts'
import { hashMessage } from '../../core/hash.ts'
import type { MessageId } from '../../core/ids.ts'
import { contentOf, type Message } from '../../core/message.ts'
import type { Store } from '../../core/ports.ts'
import { subtreeSize } from './subtree-size.ts'

/** A message that is not what its id says. */
export interface Damage {
  readonly conversation: string
  /** Null if the conversation itself cannot be read. */
  readonly message: string | null
  readonly reason: string
  /** Messages before it on its path, and those that stand on it; null if that cannot be told. */
  readonly before: number | null
  readonly after: number | null
}

export interface Checked {
  readonly messages: number
  /** Words that were taken away on purpose: their place is there, and is sound. */
  readonly erased: number
  readonly damaged: readonly Damage[]
}

export interface CheckOptions {
  /** No more than this many, the newest. */
  readonly newest?: number
  readonly signal?: AbortSignal
  /** Told how many messages were checked. */
  readonly onProgress?: (messages: number) => void
}

/** Recomputes the id of every message of a conversation from what is stored, payloads included. */
export async function checkMessages(
  store: Store,
  { id }: Pick<Conversation, 'id'>,
  { newest = Number.POSITIVE_INFINITY, signal, onProgress }: CheckOptions = {},
): Promise<Checked> {
  const faults: Fault[] = []
  let [messages, erased] = [0, 0]
  for (let after: string | undefined, more = newest > 0; more; ) {
    signal?.throwIfAborted()
    const page = await store.listMessages({
      conversationId: id,
      order: newest === Number.POSITIVE_INFINITY ? 'ascending' : 'descending',
      limit: Math.min(200, newest - messages),
      ...(after !== undefined && { after }),
    })
    for (const message of page.items) {
      if (message.erased) erased++
      else if (idOf(message) !== message.id) {
        faults.push({ id: message.id, reason: 'stored text does not match its id', read: message })
      }
    }
    faults.push(...page.skipped.map(({ id, reason }) => ({ id, reason, read: null })))
    messages += page.items.length + page.skipped.length
    onProgress?.(messages)
    after = page.next ?? undefined
    more = after !== undefined && messages < newest
  }
  if (faults.length === 0) return { messages, erased, damaged: [] }
  const runs = await store.structure(id)
  const damaged = faults.map(({ id: message, reason, read }, i) => {
    const isTold = read !== null && i < mostTold
    const [before, after] = isTold ? [read.depth, subtreeSize(runs, [read.seq]) - 1] : [null, null]
    return { conversation: id, message, reason, before, after }
  })
  return { messages, erased, damaged }
}

interface Fault {
  readonly id: string
  readonly reason: string
  /** Null if it cannot be read at all. */
  readonly read: Message | null
}

/** For how many damaged messages of a conversation it is counted what stands on them. */
const mostTold = 1_000

/** What the id has to be, by what is stored. */
function idOf(message: Message): MessageId {
  const { hash } = encodeBody(contentOf(message), message.meta ?? undefined)
  const { parentId, conversationId, role, createdAt } = message
  return hashMessage(parentId ?? conversationId, role, createdAt.getTime(), hash)
}
