import type { Conversation, NewConversation } from './conversation.ts'
import { NotFoundError } from './errors.ts'
import type { MessageId } from './ids.ts'
import { contentOf, type Message, type NewMessage } from './message.ts'
import { pathOf } from './path.ts'
import type { BranchInConversation, ConversationReader, ConversationWriter, MessageReader } from './ports.ts'

/** The part of a store that copying a path needs. */
export type PathCopier = Pick<MessageReader, 'listPath'> &
  Pick<ConversationReader, 'getConversation' | 'getBranch'> &
  Pick<ConversationWriter, 'create' | 'append'>

/** Copies the messages from the root to this one into a new conversation, with their times and metadata, but
 *  without erased ones. The copy has ids of its own, and title, model, prompt, directory and project of the
 *  original; `conversation` changes these. It is for a conversation that another program owns and that must
 *  not be written: a fork within a conversation copies nothing (`createBranch`).
 *
 * @example
 * ```ts
 * import { openStore } from 'skein'
 * import { copyAsNewConversation } from 'skein/maintenance'
 *
 * await using store = await openStore(':memory:')
 * const { branch } = await store.create({ owner: 'claude-code' })
 * const { head } = await store.append(branch, null, [{ role: 'user', content: 'Why is the build red?' }])
 *
 * const copy = await copyAsNewConversation(store, head, { key: 'cli:default' })
 * console.log(copy.conversation.owner, copy.conversation.messages) // null 1
 * ```
 */
export async function copyAsNewConversation(
  store: PathCopier,
  at: MessageId,
  conversation: NewConversation = {},
): Promise<BranchInConversation> {
  const path = await pathOf(store, at)
  const [root] = path
  if (root === undefined) throw new NotFoundError('message', at)
  const original = await store.getConversation(root.conversationId)
  const { branch } = await store.create({ ...inherited(original), ...conversation })
  const messages = path.filter(({ erased }) => erased === null).map(copied)
  if (messages.length > 0) await store.append(branch, null, messages)
  return {
    conversation: await store.getConversation(branch.conversationId),
    branch: await store.getBranch(branch),
  }
}

function inherited({
  title,
  model,
  prompt,
  promptPolicy,
  directory,
  project,
}: Conversation): NewConversation {
  return {
    directory,
    project,
    promptPolicy,
    ...(title !== null && { title }),
    ...(model !== null && { model }),
    ...(prompt !== null && { prompt: prompt.text }),
  }
}

function copied(message: Message): NewMessage {
  const { role, createdAt, tokens, metadata, label } = message
  return {
    role,
    content: contentOf(message),
    createdAt,
    tokens,
    ...(metadata !== null && { metadata }),
    ...(label !== null && { label }),
  }
}
