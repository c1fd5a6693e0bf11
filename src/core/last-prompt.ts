import type { MessageId } from './ids.ts'
import type { Message } from './message.ts'
import type { MessageReader } from './ports.ts'

/** How many messages from the end are read: first the last turn, then more. */
const reaches = [1, 50, 1_000, 10_000] as const

/** The user's last message on the path to `head`, and what follows it, with previews of blobs. A tail starts
 *  with a turn, and a turn that answers a message again has no message of the user. */
export async function lastPrompt(
  store: Pick<MessageReader, 'tail'>,
  head: MessageId | null,
): Promise<{ readonly prompt: Message | null; readonly after: readonly Message[] }> {
  if (head === null) return { prompt: null, after: [] }
  for (const messages of reaches) {
    const tail = await store.tail(head, { messages }, { blobs: 'preview' })
    const at = tail.messages.findLastIndex(({ role }) => role === 'user')
    if (at >= 0) return { prompt: tail.messages[at]!, after: tail.messages.slice(at + 1) }
    if (tail.older === 0) return { prompt: null, after: tail.messages }
  }
  return { prompt: null, after: [] }
}
