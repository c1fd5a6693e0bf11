import type { MessageId } from '../../../core/ids.ts'
import type { MessageReader } from '../../../core/ports.ts'
import { gistOf } from '../../output/gist.ts'

/** The gist of each message. An unreadable message has an empty one. */
export async function messageGists(
  reader: Pick<MessageReader, 'getMessages'>,
  heads: readonly (MessageId | null)[],
): Promise<readonly string[]> {
  const ids = heads.filter(head => head !== null)
  const messages = await reader.getMessages(ids, { blobs: 'preview' }).catch(() => [])
  const byId = new Map(messages.map(message => [message.id, gistOf(message)]))
  return heads.map(head => (head === null ? '' : (byId.get(head) ?? '')))
}
