import { type MessageId, messageId } from './ids.ts'
import type { Message } from './message.ts'
import type { MessageReader } from './ports.ts'

/** The one thing that reading a path needs of a store. */
export type PathReader = Pick<MessageReader, 'path'>

/** The messages from the root to this one, without what hangs on it. Takes an id as it came from a file or a
 *  person. Throws InvalidError if it is none, NotFoundError if no such message is there. */
export async function pathOf(reader: PathReader, id: string | MessageId): Promise<readonly Message[]> {
  return reader.path(messageId(id))
}
