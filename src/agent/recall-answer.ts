import type { SearchHit } from '../core/listing.ts'
import { type Message, textOf } from '../core/message.ts'
import type { ConversationReader, MessageReader } from '../core/ports.ts'

/** How far from the end of a conversation an answer is looked for: first near, then further. */
const reaches = [50, 1_000]

/** What was answered to a message that was found: the last words of the assistant before the person spoke again.
 *  Null if there are none, or if it lies too far back to be worth the reading. */
export async function answerTo(
  store: Pick<ConversationReader, 'getBranch'> & Pick<MessageReader, 'tail'>,
  { message, branches, conversation }: SearchHit,
): Promise<Message | null> {
  const [name] = branches
  if (name === undefined) return null
  const { head } = await store.getBranch({ conversationId: conversation.id, name })
  if (head === null) return null
  for (const messages of reaches) {
    const tail = await store.tail(head, { messages }, { blobs: 'preview' })
    const at = tail.messages.findIndex(({ id }) => id === message.id)
    if (at >= 0) return lastWords(tail.messages.slice(at + 1))
    if (tail.older === 0) return null
  }
  return null
}

function lastWords(following: readonly Message[]): Message | null {
  const next = following.findIndex(({ role }) => role === 'user')
  const turn = next < 0 ? following : following.slice(0, next)
  return turn.findLast(one => one.role === 'assistant' && textOf(one).trim() !== '') ?? null
}
