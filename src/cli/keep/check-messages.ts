import { encodeBody } from '../../core/body.ts'
import type { Conversation } from '../../core/conversation.ts'
import { SkeinError } from '../../core/errors.ts'
import { hashMessage } from '../../core/hash.ts'
import type { MessageId } from '../../core/ids.ts'
import { contentOf, type Message } from '../../core/message.ts'
import type { Store } from '../../core/ports.ts'

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
  const known = new Map<string, { readonly seq: number; readonly parentId: string | null }>()
  const faults: { readonly message: string; readonly reason: string }[] = []
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
      known.set(message.id, message)
      if (message.erased) erased++
      else if (idOf(message) !== message.id)
        faults.push({ message: message.id, reason: 'stored text does not match its id' })
    }
    faults.push(...page.skipped.map(row => ({ message: row.id, reason: row.reason })))
    messages += page.items.length + page.skipped.length
    onProgress?.(messages)
    after = page.next ?? undefined
    more = after !== undefined && messages < newest
  }
  const damaged = []
  for (const fault of faults)
    damaged.push({ conversation: id, ...fault, ...(await around(store, id, fault.message)) })
  return { messages, erased, damaged }
}

/** What the id has to be, by what is stored. */
function idOf(message: Message): MessageId {
  const { hash } = encodeBody(contentOf(message), message.meta ?? undefined)
  const { parentId, conversationId, role, createdAt } = message
  return hashMessage(parentId ?? conversationId, role, createdAt.getTime(), hash)
}

/** How much stands before a message on its path, and how much stands on it. */
async function around(
  store: Store,
  conversation: Conversation['id'],
  id: string,
): Promise<Pick<Damage, 'before' | 'after'>> {
  try {
    const runs = await store.structure(conversation)
    const tail = await store.path(id as MessageId, { blobs: 'preview' }).catch(() => null)
    const message = tail?.at(-1)
    if (!message) return { before: null, after: null }
    const { subtreeSize } = await import('./subtree-size.ts')
    return { before: message.depth, after: subtreeSize(runs, [message.seq]) - 1 }
  } catch (error) {
    if (error instanceof SkeinError) return { before: null, after: null }
    throw error
  }
}
