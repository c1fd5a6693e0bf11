import type { ListedConversation } from '../../core/listing.ts'
import type { Message } from '../../core/message.ts'
import type { Store } from '../../core/ports.ts'

/** A conversation with what a list shows of it besides. */
export interface ConversationFacts {
  readonly conversation: ListedConversation
  /** Messages on the path that would be continued. */
  readonly pathMessages: number
  readonly branches: number
  /** Somebody is answering in it now. */
  readonly isLive: boolean
  /** What was said last on that path. */
  readonly last: Message | null
}

/** Reads what a list shows of each. */
export async function readFacts(
  store: Store,
  conversations: readonly ListedConversation[],
  now: number,
): Promise<readonly ConversationFacts[]> {
  const facts: ConversationFacts[] = []
  for (const conversation of conversations) {
    const last = await lastOf(store, conversation)
    facts.push({
      conversation,
      last,
      pathMessages: last === null ? 0 : last.depth + 1,
      branches: (await store.listBranches(conversation.id)).length,
      isLive: await isLive(store, conversation, now),
    })
  }
  return facts
}

async function lastOf(store: Store, { branch }: ListedConversation): Promise<Message | null> {
  if (branch.head === null) return null
  const [last = null] = await store.getMessages([branch.head], { blobs: 'preview' })
  return last
}

/** An open turn whose holder has let its lease run out is nobody's. */
export async function isLive(
  store: Pick<Store, 'listTurns'>,
  { id }: Pick<ListedConversation, 'id'>,
  now: number,
): Promise<boolean> {
  const open = await store.listTurns(id, { status: 'open' })
  return open.some(({ leaseUntil }) => leaseUntil === null || leaseUntil.getTime() > now)
}
