import type BetterSqlite3 from 'better-sqlite3'
import type { ConversationId, MessageId } from '../src/core/ids.ts'
import { pathOf } from '../src/core/path.ts'
import type { Store } from '../src/core/ports.ts'
import type { Contender } from './contender.ts'

/** Our store as a contender. `db` is the handle of a store that fills a file quickly, or null. */
export function ourContender(store: Store, db: BetterSqlite3.Database | null): Contender {
  const main = (id: string) => ({ conversationId: id as ConversationId, name: 'main' })
  return {
    beginBulk: () => db!.exec('BEGIN'),
    endBulk: () => db!.exec('COMMIT'),
    create: async (id, title) => {
      await store.create({ id: id as ConversationId, title })
    },
    head: async id => (await store.getBranch(main(id))).head,
    append: async (id, head, { key, model, usage, messages }) => {
      const turn = { key, step: 0, model, usage }
      return (await store.append(main(id), head as MessageId | null, messages, { turn })).head
    },
    load: async (_, head) => (await pathOf(store, head as MessageId)).length,
    tail: async (_, head) => (await store.tail(head as MessageId, { messages: 40 })).messages.length,
    list: async () => (await store.listConversations()).items.length,
    fork: async (id, at, name) => {
      await store.createBranch(id as ConversationId, at as MessageId, { name })
    },
    close: async () => {
      await store.close()
      db?.close()
    },
  }
}
