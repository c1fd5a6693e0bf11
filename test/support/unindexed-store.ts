import type { NewConversation } from '../../src/core/conversation.ts'
import type { NewMessage, NonEmpty } from '../../src/core/message.ts'
import type { Store } from '../../src/core/ports.ts'
import { openStore } from '../../src/stores/open.ts'

/** More than a search reads outside the index. */
const count = 2_100

/** A store with messages that a search does not read: those before the newest 2,000, which are not in the
 *  index. The oldest one contains "heron". */
export async function unindexedStore(wanted: NewConversation): Promise<Store> {
  const store = await openStore(':memory:', { indexing: 'manual' })
  const { branch } = await store.create(wanted)
  const messages = Array.from({ length: count }, (_, n): NewMessage => {
    return { role: 'user', content: n === 0 ? 'the oldest heron' : `message ${n}` }
  })
  await store.append(branch, null, messages as unknown as NonEmpty<NewMessage>)
  return store
}
