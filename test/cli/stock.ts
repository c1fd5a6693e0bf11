import { join } from 'node:path'
import type { NewConversation } from '../../src/core/conversation.ts'
import type { MessageId } from '../../src/core/ids.ts'
import type { NewMessage, NonEmpty } from '../../src/core/message.ts'
import type { BranchInConversation, Store } from '../../src/core/ports.ts'
import type { Source } from '../../src/core/source.ts'
import { openStore } from '../../src/stores/open.ts'
import type { Home } from './skein.ts'

/** The user's store. */
export function storeFile({ env }: Home): string {
  return join(env.XDG_DATA_HOME!, 'skein', 'conversations.db')
}

/** Opens the user's store, runs the function, and closes the store. */
export async function stocked<T>(
  here: Home,
  fill: (store: Store) => Promise<T>,
  options: { readonly source?: Source } = {},
): Promise<T> {
  await using store = await openStore(storeFile(here), options)
  return await fill(store)
}

export interface Told extends BranchInConversation {
  readonly ids: readonly MessageId[]
}

/** Creates a conversation: user and assistant in turn, or the given messages. */
export async function tell(
  store: Store,
  conversation: NewConversation,
  ...said: NonEmpty<string | NewMessage>
): Promise<Told> {
  const place = await store.create(conversation)
  const messages = said.map(
    (one, i): NewMessage =>
      typeof one === 'string' ? { role: i % 2 === 0 ? 'user' : 'assistant', content: one } : one,
  )
  const { ids } = await store.append(place.branch, null, messages)
  return {
    conversation: await store.getConversation(place.conversation.id),
    branch: await store.getBranch(place.branch),
    ids,
  }
}

/** A clock that is fixed at this time, with random ids. */
export function at(time: number): Source {
  return { now: () => time, uuid: () => crypto.randomUUID() }
}

/** Text that would control a terminal: clears it, sets its title, moves the cursor, changes the writing
 *  direction. */
export const hostile = 'evil\x1b[2J\x1b]0;owned\x07\r\b\x9b31m\u202e end'

/** Characters that must never reach a terminal. */
export const driving = /[^\P{Cc}\n\t]|\p{Bidi_Control}/u
