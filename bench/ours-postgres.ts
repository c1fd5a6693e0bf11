import type { ConversationId, MessageId } from '../src/core/ids.ts'
import type { Store } from '../src/core/ports.ts'
import type { PostgresContender } from './floor-postgres.ts'

/** A store as a contender of the floor. `load` is not compared here. */
export function oursOver(store: Store): PostgresContender {
  const main = (id: string) => ({ conversationId: id as ConversationId, name: 'main' })
  return {
    async create(id, title) {
      await store.create({ id: id as ConversationId, title, key: `work:${id}` })
    },
    head: async id => (await store.getBranch(main(id))).head,
    async append(id, head, { key, model, usage, messages }) {
      const turn = { key, step: 0, model, usage }
      return (await store.append(main(id), head as MessageId | null, messages, { turn })).head
    },
    load: async () => 0,
    tail: async (_, head, messages) => (await store.tail(head as MessageId, { messages })).messages.length,
    close: async () => {},
  }
}
