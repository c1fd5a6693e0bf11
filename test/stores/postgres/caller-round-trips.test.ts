import { expect, it } from 'vitest'
import { createAgent } from '../../../src/agent/agent.ts'
import { readHitGroups } from '../../../src/cli/read/hit-groups.ts'
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

it('names the models of hits in as many round trips, however many turns a conversation has', async () => {
  const url = await freshDatabase()
  {
    await using store = await openPostgresStore(url, { indexing: 'manual' })
    for (const [title, count] of [
      ['short', 3],
      ['long', 1_100],
    ] as const) {
      const { branch } = await store.create({ title })
      let head = branch.head
      for (let n = 0; n < count; n++) {
        const said = { role: 'assistant', content: n === 1 ? `heron ${title}` : `${n}` } as const
        const turn = { key: `t${n}`, step: 0, status: 'complete', model: `model-${n}` } as const
        head = (await store.append(branch, head, [said], { turn })).head
      }
    }
    await store.indexSearch()
  }
  const proxy = await startProxy(url)
  await using store = await openPostgresStore(proxy.url, { pool: { max: 1 }, indexing: 'manual' })
  const nothing = await countRequests(proxy, store, async () => {})
  const counted: Record<string, number> = {}
  for (const title of ['short', 'long']) {
    const { items } = await store.search(`heron ${title}`)
    const requests = await countRequests(proxy, store, async () => {
      const [group] = await readHitGroups(store, items, () => null)
      expect([group?.title, group?.hits.map(({ who }) => who)]).toEqual([title, ['model-1']])
    })
    counted[title] = requests - nothing
  }
  // The turn, the conversation, and twice the three of the resolved beginning of an id.
  expect(counted).toEqual({ short: 8, long: 8 })
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
