import { type MessageId, messageId } from './ids.ts'
import type { Message } from './message.ts'
import { collectPages } from './pages.ts'
import type { MessageReader, ReadOptions } from './ports.ts'

/** The messages from the root to this one. Accepts an id from a file or a person. Throws InvalidError if
 *  the text is not an id, NotFoundError if there is no such message.
 *
 * @example
 * ```ts
 * import { openStore, pathOf, textOf } from 'skein'
 *
 * await using store = await openStore(':memory:')
 * const { branch } = await store.create()
 * const { head } = await store.append(branch, null, [
 *   { role: 'user', content: 'Name a colour.' },
 *   { role: 'assistant', content: 'Red.' },
 * ])
 * console.log((await pathOf(store, head)).map(textOf)) // [ 'Name a colour.', 'Red.' ]
 * ```
 */
export async function pathOf(
  reader: Pick<MessageReader, 'listPath'>,
  id: string | MessageId,
  options: ReadOptions = {},
): Promise<readonly Message[]> {
  const end = messageId(id)
  return collectPages(page => reader.listPath(end, { ...options, ...page }))
}
