import { randomUUID } from 'node:crypto'
import type { Contender } from '../contender.ts'
import type { WorkMessage, WorkTurn } from '../workload.ts'

/** Mastra's storage on libSQL, with its own settings (WAL, synchronous NORMAL). A fork is its copy of a
 *  thread. */

interface Memory {
  saveThread(args: { thread: object }): Promise<unknown>
  saveMessages(args: { messages: object[] }): Promise<unknown>
  listMessages(args: object): Promise<{ messages: unknown[] }>
  listThreads(args: object): Promise<{ threads: unknown[] }>
  copyThread(args: object): Promise<unknown>
}
interface MastraStore {
  init(): Promise<void>
  getStore(domain: 'memory'): Promise<Memory>
  close?(): Promise<void>
}

// Not installed where types are checked.
const load = (name: string): Promise<unknown> => import(name)

const resourceId = 'bench'

export async function openMastra(file: string): Promise<Contender> {
  const { LibSQLStore } = (await load('@mastra/libsql')) as {
    LibSQLStore: new (config: object) => MastraStore
  }
  const store = new LibSQLStore({ id: 'bench', url: `file:${file}` })
  await store.init()
  const memory = await store.getStore('memory')
  // It orders by time: two messages of one millisecond could change places.
  let last = 0
  const nextTime = () => {
    last = Math.max(Date.now(), last + 1)
    return new Date(last)
  }

  return {
    beginBulk() {},
    endBulk() {},
    create: async (id, title) => {
      const now = new Date()
      await memory.saveThread({ thread: { id, resourceId, title, createdAt: now, updatedAt: now } })
    },
    head: async () => 'the newest',
    append: async (id, _, turn) => {
      await memory.saveMessages({ messages: messagesOf(id, turn, nextTime) })
      return 'the newest'
    },
    load: async id => (await memory.listMessages({ threadId: id, perPage: false })).messages.length,
    tail: async id =>
      (
        await memory.listMessages({
          ...{ threadId: id, perPage: 40, page: 0 },
          orderBy: { field: 'createdAt', direction: 'DESC' },
        })
      ).messages.length,
    list: async () =>
      (await memory.listThreads({ perPage: 20, orderBy: { field: 'updatedAt', direction: 'DESC' } })).threads
        .length,
    fork: async (id, _, name) => {
      await memory.copyThread({ sourceThreadId: id, newThreadId: `${id}-${name}`, title: name })
    },
    close: () => store.close?.(),
  }
}

function messagesOf(threadId: string, { messages }: WorkTurn, nextTime: () => Date): object[] {
  return messages.map(message => ({
    ...{ id: randomUUID(), threadId, resourceId, type: 'v2', createdAt: nextTime() },
    ...{ role: message.role === 'user' ? 'user' : 'assistant', content: contentOf(message) },
  }))
}

function contentOf({ content: blocks }: WorkMessage): object {
  const parts = blocks.map(block => {
    if (block.type === 'text') return block
    if (block.type === 'thinking') return { type: 'reasoning', reasoning: block.text, details: [] }
    return { type: 'tool-invocation', toolInvocation: block }
  })
  return { format: 2, parts }
}
