import { encodeBody } from '../../core/body.ts'
import type { ConversationId } from '../../core/ids.ts'
import { contentOf } from '../../core/message.ts'
import type { ConversationReader, Lister, SweepReceipt } from '../../core/ports.ts'
import { allConversations } from './all-conversations.ts'

/** How much a conversation is: its messages, and the bytes of what was said in them, payloads included. */
export interface Amount {
  readonly messages: number
  /** Null if it was not measured. */
  readonly bytes: number | null
}

/** What has expired and stays all the same. */
export interface Kept {
  readonly id: ConversationId
  readonly reason: 'no task' | 'someone is answering'
}

/** Counts the messages of each; `measure` reads them all and adds up their bytes. */
export async function amountsOf(
  store: ConversationReader & Lister,
  ids: readonly ConversationId[],
  { measure }: { readonly measure: boolean },
): Promise<ReadonlyMap<string, Amount>> {
  const amounts = new Map<string, Amount>()
  for (const id of ids) {
    const { messages } = await store.getConversation(id)
    amounts.set(id, { messages, bytes: measure ? await bytesOf(store, id) : null })
  }
  return amounts
}

export function sumOf(ids: readonly string[], amounts: ReadonlyMap<string, Amount>): Amount {
  let [messages, bytes]: [number, number | null] = [0, 0]
  for (const id of ids) {
    const amount = amounts.get(id)
    messages += amount?.messages ?? 0
    bytes = bytes === null || amount === undefined || amount.bytes === null ? null : bytes + amount.bytes
  }
  return { messages, bytes }
}

async function bytesOf(store: Lister, conversationId: ConversationId): Promise<number> {
  let sum = 0
  for (let after: string | null | undefined; after !== null; ) {
    const page: Awaited<ReturnType<Lister['listMessages']>> = await store.listMessages({
      conversationId,
      limit: 200,
      ...(after === undefined ? {} : { after }),
    })
    for (const message of page.items) {
      const { text, blobs } = encodeBody(contentOf(message), message.meta ?? undefined)
      sum += Buffer.byteLength(text) + blobs.reduce((all, { data }) => all + data.byteLength, 0)
    }
    after = page.next
  }
  return sum
}

/** Expired conversations that a sweep leaves where they are: those of people, which expire without being thrown away,
 *  and those in which somebody is answering. */
export async function keptBy(
  { trashed, clockJumped }: SweepReceipt,
  store: Lister,
  now: number,
): Promise<readonly Kept[]> {
  if (clockJumped) return []
  const gone = new Set<string>(trashed)
  const { items } = await allConversations(store)
  return items
    .filter(({ id, expiresAt }) => expiresAt !== null && expiresAt.getTime() <= now && !gone.has(id))
    .map(({ id, task }) => ({ id, reason: task === null ? 'no task' : 'someone is answering' }))
}
