import type { NewConversation } from '../../../src/core/conversation.ts'
import type { ConversationId, MessageId } from '../../../src/core/ids.ts'
import type { NewMessage } from '../../../src/core/message.ts'
import type { BranchInConversation, Store } from '../../../src/core/ports.ts'
import { openStore } from '../../../src/stores/open.ts'

/** A store in memory that is closed with the test. Its ids and times are the same in every run. */
export async function memory(): Promise<Store & AsyncDisposable> {
  let made = 0
  const source = {
    now: () => Date.UTC(2026, 7, 14, 9, 0, made++),
    uuid: () => `${(++made * 7_919).toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`,
  }
  const store = await openStore(':memory:', { source })
  return { ...store, [Symbol.asyncDispose]: () => store.close() }
}

export interface Talk extends BranchInConversation {
  readonly id: ConversationId
  readonly ids: readonly MessageId[]
}

/** A conversation with alternating texts of user and assistant; other messages are given in full. */
export async function talk(
  store: Store,
  about: NewConversation,
  ...said: readonly (string | NewMessage)[]
): Promise<Talk> {
  const place = await store.create(about)
  const messages = said.map((one, i): NewMessage => {
    if (typeof one !== 'string') return one
    return { role: i % 2 === 0 ? 'user' : 'assistant', content: one }
  })
  const appended = await store.append(place.branch, null, messages)
  return { ...place, id: place.conversation.id, ids: appended.ids }
}
