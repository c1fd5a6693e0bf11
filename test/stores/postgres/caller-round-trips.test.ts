import { expect, it } from 'vitest'
import { createAgent } from '../../../src/agent/agent.ts'
import type { Model } from '../../../src/core/model.ts'
import { openPostgresStore, postgresStore } from '../../../src/stores/postgres/index.ts'
import { countRequests, fillConversation, requestCounter } from './count-requests.ts'
import { countTrips, freshDatabase, openPool } from './database.ts'
import { startProxy } from './proxy.ts'

it('resolves the beginning of an id in two round trips', async () => {
  const url = await freshDatabase()
  const { conversation, head } = await fillConversation(url)
  const proxy = await startProxy(url)
  await using store = await openPostgresStore(proxy.url, { pool: { max: 1 } })
  const nothing = await countRequests(proxy, store, async () => {})
  for (const id of [conversation.id, head]) {
    const counted = await countRequests(proxy, store, async () => {
      const found = await store.resolve(id.slice(0, 12))
      expect([found.conversation.id, found.message]).toEqual([conversation.id, id === head ? head : null])
    })
    // And the end of the transaction, which the caller does not wait for.
    expect(counted - nothing).toBe(3)
  }
})

it('reads what a list and a page show in a few round trips', async () => {
  const url = await freshDatabase()
  const { head } = await fillConversation(url)
  const proxy = await startProxy(url)
  await using store = await openPostgresStore(proxy.url, { pool: { max: 1 } })
  const { items } = await store.listConversations()
  const nothing = await countRequests(proxy, store, async () => {})
  const count = async (call: () => Promise<unknown>) => (await countRequests(proxy, store, call)) - nothing
  // Facts with open turns, and the messages; the end of the transaction, which the caller does not wait for.
  expect(await count(() => store.readOverviews(items))).toBe(3)
  // The end of the path, its messages, and what is shown with them; the end of the transaction.
  expect(await count(() => store.readPathSection(head))).toBe(4)
})

it('opens a database in one round trip', async () => {
  const url = await freshDatabase()
  await postgresStore(openPool(url))
  const pool = openPool(url, { max: 1 })
  const trips = countTrips(pool)
  await postgresStore(pool)
  expect(trips()).toBe(1)
})

it('calls the model of an agent after two round trips, and stores its answer in one', async () => {
  const url = await freshDatabase()
  await fillConversation(url)
  const proxy = await startProxy(url)
  await using store = await openPostgresStore(proxy.url, { pool: { max: 1 }, indexing: 'manual' })
  const requests = requestCounter()
  let before = 0
  const asked: Model = {
    id: 'asked',
    async *stream() {
      before = requests.count
      const content = [{ type: 'text', text: 'yes' }] as const
      yield { type: 'answer', answer: { content, finish: 'stop', usage: {}, model: null } }
    },
  }
  await using agent = createAgent({ store, model: asked })
  await agent.ask('cli:default', 'Does the first turn load the rest?')
  await store.schemaVersion()
  proxy.cut = sent => {
    requests.see(sent)
    return null
  }
  await agent.ask('cli:default', 'How many?')
  // Find the conversation with its history, store the question.
  expect([before, requests.count]).toEqual([2, 3])
  const stored = requests.count
  await agent.ask('cli:new', 'How many now?')
  // Find nothing; find nothing again, create the conversation, commit; store the question.
  expect([before - stored, requests.count - stored]).toEqual([5, 6])
})
