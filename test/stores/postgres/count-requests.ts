import type { Store } from '../../../src/core/ports.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import type { Proxy as WireProxy } from './proxy.ts'

/** Counts the requests that a client sends: each Sync of the extended protocol, and each simple query, makes
 *  the server answer. */
export function requestCounter(): { readonly count: number; see(sent: Buffer): void } {
  let unread = Buffer.alloc(0)
  let count = 0
  return {
    get count() {
      return count
    },
    see(sent) {
      unread = Buffer.concat([unread, sent])
      while (unread.length >= 5) {
        const end = 1 + unread.readInt32BE(1)
        if (unread.length < end) return
        if (unread[0] === 0x53 || unread[0] === 0x51) count++
        unread = unread.subarray(end)
      }
    },
  }
}

/** Counts the requests of a call. The store only reads, so it has no work in the background. */
export async function countRequests(
  proxy: WireProxy,
  store: Store,
  call: (store: Store) => Promise<unknown>,
) {
  const requests = requestCounter()
  proxy.cut = sent => {
    requests.see(sent)
    return null
  }
  await call(store)
  // On the same connection, after anything that the call still sends.
  await store.schemaVersion()
  return requests.count
}

/** A conversation of 61 messages on two branches. Those of the turns are of different milliseconds: a page of
 *  hits that ends between two of the same one may take a request more. */
export async function fillConversation(url: string) {
  await using store = await openPostgresStore(url)
  const { conversation, branch } = await store.create({
    key: 'cli:default',
    tags: ['red'],
    directory: '/work',
  })
  let head = branch.head
  const from = Date.now() - 60
  for (let turn = 0; turn < 30; turn++) {
    const at = (i: number) => new Date(from + 2 * turn + i)
    const messages = [
      { role: 'user', content: `question ${turn}`, createdAt: at(0) },
      { role: 'assistant', content: `answer ${turn}`, createdAt: at(1) },
    ] as const
    head = (await store.append(branch, head, messages, { turn: { key: `t${turn}`, step: 0 } })).head
  }
  const fork = await store.createBranch(conversation.id, head, { name: 'fork' })
  await store.append(branch, head, [{ role: 'user', content: 'the first way' }])
  const forked = await store.append(fork, head, [{ role: 'user', content: 'another way' }])
  return { conversation, branch, head: forked.head }
}
