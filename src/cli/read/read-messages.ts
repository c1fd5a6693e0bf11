import type { ConversationId } from '../../core/ids.ts'
import type { Message } from '../../core/message.ts'
import type { Lister, MessageReader } from '../../core/ports.ts'

const pageSize = 2000

/** All messages of a conversation in the order they were stored, of large ones only the beginning of each. */
export async function readMessages(
  store: Pick<Lister, 'listMessages'>,
  conversationId: ConversationId,
): Promise<{ readonly messages: readonly Message[]; readonly unreadable: readonly string[] }> {
  const messages: Message[] = []
  const unreadable: string[] = []
  for (let after: string | null | undefined; after !== null; ) {
    const page: Awaited<ReturnType<Lister['listMessages']>> = await store.listMessages({
      conversationId,
      order: 'ascending',
      blobs: 'preview',
      limit: pageSize,
      ...(after !== undefined && { after }),
    })
    messages.push(...page.items)
    unreadable.push(...page.skipped.map(({ id }) => id))
    after = page.next
  }
  return { messages, unreadable }
}

/** When something was last said in each tree of a conversation, by the id of its root. Reads no bodies. */
export async function newestByRoot(
  store: Pick<MessageReader, 'structure'>,
  conversationId: ConversationId,
): Promise<ReadonlyMap<string, number>> {
  const newest = new Map<string, number>()
  const rootOf = new Map<string, string>()
  // Parents come before their children.
  for (const { first, last, parent, startedAt, endedAt } of await store.structure(conversationId)) {
    const root = parent === null ? first : (rootOf.get(parent) ?? first)
    rootOf.set(last, root)
    newest.set(root, Math.max(newest.get(root) ?? 0, startedAt.getTime(), endedAt.getTime()))
  }
  return newest
}
