import { type MessageId, messageId } from './ids.ts'
import type { Message } from './message.ts'
import type { MessageReader } from './ports.ts'

/** The part of a store that reading a path needs. */
export type PathReader = Pick<MessageReader, 'path'>

/** The messages from the root to this one. Accepts an id from a file or a person. Throws InvalidError if
 *  the text is not an id, NotFoundError if there is no such message. */
export async function pathOf(reader: PathReader, id: string | MessageId): Promise<readonly Message[]> {
  return reader.path(messageId(id))
}
