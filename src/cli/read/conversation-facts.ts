import type { MessageId } from '../../core/ids.ts'
import type { ListedConversation } from '../../core/listing.ts'
import type { Message } from '../../core/message.ts'
import { collectPages } from '../../core/pages.ts'
import type { ConversationReader, MessageReader } from '../../core/ports.ts'
import { isTurnLive } from '../../system/live-turn.ts'

/** A conversation with what a list shows of it. */
export interface ConversationFacts {
  readonly conversation: ListedConversation
  /** Messages on the path of the active branch. */
  readonly pathMessages: number
  readonly branches: number
  /** A turn is being answered. */
  readonly isLive: boolean
  /** The last message on that path. */
  readonly last: Message | null
}

/** Reads what a list shows of each conversation. */
export async function readConversationFacts(
  store: ConversationReader & MessageReader,
  conversations: readonly ListedConversation[],
  now: number,
): Promise<readonly ConversationFacts[]> {
  const heads = await readHeads(store, conversations)
  const facts: ConversationFacts[] = []
  for (const conversation of conversations) {
    const { head } = conversation.branch
    const last = head === null ? null : (heads.get(head) ?? null)
    facts.push({
      conversation,
      last,
      pathMessages: last === null ? 0 : last.depth + 1,
      branches: (await collectPages(page => store.listBranches(conversation.id, page))).length,
      isLive: await isLive(store, conversation, now),
    })
  }
  return facts
}

/** Reads all heads at once, and one by one only if that fails: a damaged message must not hide the other
 *  conversations. */
async function readHeads(
  store: MessageReader,
  conversations: readonly ListedConversation[],
): Promise<ReadonlyMap<MessageId, Message>> {
  const ids = conversations.flatMap(({ branch }) => branch.head ?? [])
  const read = async (some: readonly MessageId[]) => store.getMessages(some, { blobs: 'preview' })
  const messages = await read(ids).catch(async () => {
    const readable: Message[] = []
    for (const id of ids) readable.push(...(await read([id]).catch(() => [])))
    return readable
  })
  return new Map(messages.map(message => [message.id, message]))
}

async function isLive(
  store: Pick<MessageReader, 'listTurns'>,
  { id }: Pick<ListedConversation, 'id'>,
  now: number,
): Promise<boolean> {
  const open = await collectPages(page => store.listTurns(id, { status: 'open', ...page }))
  return open.some(turn => isTurnLive(turn, now))
}
