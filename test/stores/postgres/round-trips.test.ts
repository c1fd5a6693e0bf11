import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { KeyReusedError, NotFoundError } from '../../../src/core/errors.ts'
import type { SearchOptions } from '../../../src/core/listing.ts'
import type { NewMessage, NonEmpty } from '../../../src/core/message.ts'
import type { Store } from '../../../src/core/ports.ts'
import type { StoreRecord } from '../../../src/core/record.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { countRequests, fillConversation, requestCounter } from './count-requests.ts'
import { freshDatabase } from './database.ts'
import { startProxy, type Proxy as WireProxy } from './proxy.ts'

it('reads a conversation in one round trip each', async () => {
  const url = await freshDatabase()
  const { conversation, branch, head } = await fillConversation(url)
  const proxy = await startProxy(url)
  await using store = await openPostgresStore(proxy.url, { pool: { max: 1 } })
  const { next } = await store.listPath(head, { limit: 20 })
  const calls: Record<string, (store: Store) => Promise<unknown>> = {
    tail: s => s.tail(head, { messages: 40 }),
    'tail of tokens': s => s.tail(head, { tokens: 100 }),
    listPath: s => s.listPath(head),
    'the next page of a path': s => s.listPath(head, { limit: 20, after: next! }),
    getBranch: s => s.getBranch(branch),
    findOrCreate: s => s.findOrCreate('cli:default'),
    findByKey: s => s.findByKey('cli:default'),
    'findWithTail by key': s => s.findWithTail('cli:default', { messages: 40 }, { summaries: 4 }),
    'findWithTail by name': s => s.findWithTail(branch, { tokens: 100 }),
    'findWithTail of nothing': s => s.findWithTail('cli:other', { messages: 40 }),
    listMessages: s => s.listMessages({ conversationId: conversation.id, limit: 10 }),
    getConversation: s => s.getConversation(conversation.id),
    listTurns: s => s.listTurns(conversation.id, { status: 'open' }),
    'listTurns, chosen': s => s.listTurns(conversation.id, { firsts: [0, 2, 58] }),
    findTurn: s => s.findTurn(conversation.id, 't1'),
    listSummaries: s => s.listSummaries(conversation.id),
    listEvents: s => s.listEvents(conversation.id),
    listStretches: s => s.listStretches(conversation.id),
    'a missing conversation': s => expect(s.listEvents(randomUUID())).rejects.toThrow(NotFoundError),
  }
  const nothing = await countRequests(proxy, store, async () => {})
  const counted: Record<string, number> = {}
  for (const [name, call] of Object.entries(calls))
    counted[name] = (await countRequests(proxy, store, call)) - nothing
  expect(counted).toEqual(Object.fromEntries(Object.keys(calls).map(name => [name, 1])))
})

it('creates a conversation in two round trips', async () => {
  const proxy = await startProxy(await freshDatabase())
  await using store = await openPostgresStore(proxy.url, { pool: { max: 1 }, indexing: 'manual' })
  const nothing = await countRequests(proxy, store, async () => {})
  const details = { prompt: 'Be brief.', tags: ['red', 'blue'], metadata: { color: 'red', size: 2 } }
  const calls: Record<string, (store: Store) => Promise<unknown>> = {
    create: s => s.create(),
    'create with a key': s => s.create({ key: 'a' }),
    'create with details': s => s.create({ key: 'b', ...details }),
    'findOrCreate, created': s => s.findOrCreate('c', details),
    'findOrCreate, found': s => s.findOrCreate('c', details),
    'findOrCreateByTask, created': s => s.findOrCreateByTask('T-1', details),
    'a key in use': s => expect(s.create({ key: 'a' })).rejects.toThrow(KeyReusedError),
  }
  const counted: Record<string, number> = {}
  for (const [name, call] of Object.entries(calls))
    counted[name] = (await countRequests(proxy, store, call)) - nothing
  expect(counted).toEqual({
    // The commit is not sent along: while it is not, a broken connection means that nothing was written.
    create: 2,
    'create with a key': 2,
    'create with details': 2,
    // The key is looked up first, without a transaction.
    'findOrCreate, created': 3,
    'findOrCreate, found': 1,
    // The task is looked up before and under its lock; the end of the first transaction is not waited for.
    'findOrCreateByTask, created': 5,
    // The holder of the key, and the end of the transaction.
    'a key in use': 3,
  })
  expect(await store.countConversations({ tag: 'blue', metadata: { size: 2 } })).toBe(3)
})

/** Of different milliseconds. */
function repeatedly(count: number, content: string, from = Date.now()): NonEmpty<NewMessage> {
  const messages = Array.from({ length: count }, (_, i) => {
    return { role: 'user', content, createdAt: new Date(from + i) } as const
  })
  return messages as unknown as NonEmpty<NewMessage>
}

/** The number of hits of a search, and of its requests. `nothing` is what a count of no call has. */
async function countSearch(
  proxy: WireProxy,
  store: Store,
  nothing: number,
  text: string,
  options: SearchOptions,
) {
  let found = 0
  const requests = await countRequests(proxy, store, async () => {
    found = (await store.search(text, options)).items.length
  })
  return { found, requests: requests - nothing }
}

it('searches in two round trips', async () => {
  const url = await freshDatabase()
  const { conversation } = await fillConversation(url)
  {
    await using store = await openPostgresStore(url, { indexing: 'manual' })
    const { branch } = await store.create({ key: 'unindexed' })
    const inBlob = { role: 'user', content: `words in a blob: ${'long '.repeat(10_000)}` } as const
    const { head } = await store.append(branch, null, [inBlob])
    // Whether a prefix is common is decided by the newest 64 messages.
    const others = await store.create()
    await store.append(others.branch, null, repeatedly(600, 'something else'))
    await store.indexSearch()
    await store.append(branch, head, [{ role: 'assistant', content: 'another answer' }])
  }
  const proxy = await startProxy(url)
  await using store = await openPostgresStore(proxy.url, { pool: { max: 1 }, indexing: 'manual' })
  const found: Record<string, number> = {}
  const counted: Record<string, number> = {}
  const nothing = await countRequests(proxy, store, async () => {})
  const count = async (name: string, text: string, options: SearchOptions = {}) => {
    const counts = await countSearch(proxy, store, nothing, text, options)
    found[name] = counts.found
    counted[name] = counts.requests
  }
  await count('a word', 'answer')
  await count('a phrase', '"another answer"')
  await count('words and roles', 'answer role:assistant since:2020-01-01')
  await count('without a word', 'way -first')
  await count('ranked', 'answer', { order: 'ranked' })
  await count('ranked, many hits', 'something', { order: 'ranked' })
  await count('of a kind', 'answer', { kind: 'main' })
  await count('nothing', 'absent')
  const { next } = await store.search('answer', { limit: 5 })
  await count('the next page', 'answer', { limit: 5, after: next! })
  await count('a blob', 'blob')
  await count('a ranked blob', 'blob', { order: 'ranked' })
  await count('a phrase in a blob', '"a blob"')
  await count('a rare prefix', 'firs*')
  await count('a common prefix', 'some*')
  await count('two prefixes', 'firs* wa*')
  await count('an absent prefix', 'abse*')
  await count('a conversation', `answer in:${conversation.id}`)
  await count('a key', 'answer in:cli:default')
  await count('a beginning of an id', `answer in:${conversation.id.slice(0, 13)}`)
  await count('listed conversations', 'answer', { conversations: [conversation.id] })
  await count('a key prefix', 'answer', { keyPrefix: 'cli:' })
  await count('a tag', 'answer', { tag: 'red' })
  await count('a tag and a directory', 'answer', { tag: 'red', directory: '/work' })
  await count('a tag and a prefix', 'answ*', { tag: 'red' })
  await count('a tag of none', 'answer', { tag: 'absent' })
  await count('a tag and another key', 'answer in:unindexed', { tag: 'red' })
  expect(found).toEqual({
    'a word': 20,
    'a phrase': 1,
    'words and roles': 20,
    'without a word': 1,
    ranked: 20,
    'ranked, many hits': 20,
    'of a kind': 20,
    nothing: 0,
    'the next page': 5,
    'a blob': 1,
    'a ranked blob': 1,
    'a phrase in a blob': 1,
    'a rare prefix': 1,
    'a common prefix': 20,
    'two prefixes': 1,
    'an absent prefix': 0,
    'a conversation': 20,
    'a key': 20,
    'a beginning of an id': 20,
    'listed conversations': 20,
    'a key prefix': 20,
    'a tag': 20,
    'a tag and a directory': 20,
    'a tag and a prefix': 20,
    'a tag of none': 0,
    'a tag and another key': 0,
  })
  expect(counted).toEqual({
    'a word': 2,
    'a phrase': 2,
    'words and roles': 2,
    'without a word': 2,
    ranked: 2,
    'ranked, many hits': 2,
    'of a kind': 2,
    nothing: 1,
    'the next page': 2,
    'a blob': 2,
    'a ranked blob': 2,
    'a phrase in a blob': 2,
    'a rare prefix': 2,
    'a common prefix': 2,
    'two prefixes': 2,
    // No answer of the index may mean that it was not asked.
    'an absent prefix': 2,
    'a conversation': 2,
    'a key': 2,
    'a beginning of an id': 2,
    'listed conversations': 2,
    'a key prefix': 2,
    'a tag': 2,
    'a tag and a directory': 2,
    'a tag and a prefix': 2,
    'a tag of none': 1,
    // Whether the conversation exists is looked up if nothing was found.
    'a tag and another key': 2,
  })
})

it('searches in two round trips if many messages have blobs', async () => {
  const url = await freshDatabase()
  {
    await using store = await openPostgresStore(url, { indexing: 'manual' })
    const { branch } = await store.create()
    const now = Date.now()
    const messages = Array.from({ length: 400 }, (_, i) => ({
      role: 'user' as const,
      content: `${i === 7 ? 'unusual' : 'common'} words ${i % 4 === 0 ? `of heron ${i % 8 === 0 ? 'and ibis' : 'or ibis'}` : ''} ${
        i % 10 === 0 ? 'long '.repeat(6_000) : ''
      }`,
      createdAt: new Date(now + i),
    }))
    const { head } = await store.append(branch, null, messages as unknown as NonEmpty<NewMessage>)
    const others = await store.create()
    const inBlobs = repeatedly(120, `only in blobs ${'long '.repeat(3_400)}`, now - 60_000)
    await store.append(others.branch, null, inBlobs)
    await store.indexSearch()
    const unindexed = { role: 'assistant', content: `new words: ${'long '.repeat(6_000)}` } as const
    await store.append(branch, head, [unindexed])
  }
  const proxy = await startProxy(url)
  await using store = await openPostgresStore(proxy.url, { pool: { max: 1 }, indexing: 'manual' })
  const nothing = await countRequests(proxy, store, async () => {})
  const counted: Record<string, readonly [found: number, requests: number]> = {}
  const count = async (name: string, text: string, options: SearchOptions = {}) => {
    const { found, requests } = await countSearch(proxy, store, nothing, text, options)
    counted[name] = [found, requests]
  }
  await count('a word', 'words')
  await count('a phrase', '"common words"')
  await count('a phrase of some', '"and ibis"')
  await count('a rare prefix', 'unus*')
  await count('a prefix that no indexed message has', 'new*')
  await count('a prefix of a quarter', 'hero*')
  await count('a common prefix', 'comm*')
  await count('a phrase of blobs', '"in blobs"')
  await count('ranked', 'words', { order: 'ranked' })
  await count('ranked, few hits', 'new words', { order: 'ranked' })
  await count('a large page', 'words', { limit: 200 })
  expect(counted).toEqual({
    'a word': [20, 2],
    'a phrase': [20, 2],
    'a phrase of some': [20, 2],
    'a rare prefix': [1, 2],
    // No answer of the index may mean that it was not asked.
    'a prefix that no indexed message has': [1, 3],
    // The newest 64 messages have fewer than a page, and so many that the index would be slower.
    'a prefix of a quarter': [20, 3],
    'a common prefix': [20, 2],
    // Enough messages may match: their texts are read before further candidates.
    'a phrase of blobs': [20, 3],
    // The texts of more than 64 hits are read before it is known which of them are shown.
    ranked: [20, 3],
    'ranked, few hits': [1, 2],
    'a large page': [200, 2],
  })
})

it('writes the records of a conversation in a few round trips', async () => {
  const records: StoreRecord[] = []
  const from = await freshDatabase()
  const { conversation } = await fillConversation(from)
  {
    await using store = await openPostgresStore(from)
    for await (const record of store.readRecords(conversation.id))
      if (record.kind !== 'unreadable') records.push(record)
  }
  const proxy = await startProxy(await freshDatabase())
  await using store = await openPostgresStore(proxy.url, { pool: { max: 1 }, indexing: 'manual' })
  const nothing = await countRequests(proxy, store, async () => {})
  const counted = await countRequests(proxy, store, async () => {
    const outcomes = await store.writeRecords(records)
    expect(outcomes.filter(({ outcome }) => outcome === 'added').length).toBe(records.length)
  })
  expect(records.filter(({ kind }) => kind === 'message' || kind === 'turn').length).toBe(92)
  // Begin and what is known; the conversation; everything else with each of two branches; commit.
  expect(counted - nothing).toBe(5)
})

/** A message of half a megabyte, or of another number of words of five bytes. */
async function fillBlob(words = 100_000) {
  const url = await freshDatabase()
  await using store = await openPostgresStore(url)
  const { branch } = await store.create()
  const content = [{ type: 'text', text: 'long '.repeat(words) }] as const
  const { head } = await store.append(branch, null, [{ role: 'user', content }])
  return { url, head }
}

it('reads a message with a blob in two round trips', async () => {
  const { url, head } = await fillBlob()
  const proxy = await startProxy(url)
  await using store = await openPostgresStore(proxy.url, { pool: { max: 1 } })
  const nothing = await countRequests(proxy, store, async () => {})
  const counted = await countRequests(proxy, store, async () => {
    const { messages } = await store.tail(head, { messages: 40 })
    expect(JSON.stringify(messages[0]!.content).length).toBeGreaterThan(400_000)
  })
  // A blob never changes, so it needs no common snapshot.
  expect(counted - nothing).toBe(2)
})

it.each([
  { blob: 'its blob', words: undefined, request: 2 },
  { blob: 'the parts of its blob', words: 1_300_000, request: 3 },
])('reads a message again if $blob was removed before that was read', async ({ words, request }) => {
  const { url, head } = await fillBlob(words)
  const proxy = await startProxy(url)
  await using writer = await openPostgresStore(url)
  await using store = await openPostgresStore(proxy.url, { pool: { max: 1 } })
  await store.schemaVersion()
  const requests = requestCounter()
  let isErased = false
  proxy.cut = sent => {
    requests.see(sent)
    if (requests.count !== request || isErased) return null
    isErased = true
    return writer.eraseMessages([head], { by: 'test', reason: 'between' }).then(() => undefined)
  }
  const { messages } = await store.tail(head, { messages: 40 })
  expect([isErased, messages.length, messages[0]!.erased !== null]).toEqual([true, 1, true])
})

it('reads a blob of 6 parts in two round trips more, and its beginning in one', async () => {
  const { url, head } = await fillBlob(1_300_000)
  const proxy = await startProxy(url)
  await using store = await openPostgresStore(proxy.url, { pool: { max: 1 } })
  const nothing = await countRequests(proxy, store, async () => {})
  const count = async (blobs: 'whole' | 'preview', length: number) => {
    const counted = await countRequests(proxy, store, async () => {
      const { messages } = await store.tail(head, { messages: 40 }, { blobs })
      expect((messages[0]!.content[0] as { text: string }).text).toHaveLength(length)
    })
    return counted - nothing
  }
  expect(await count('whole', 6_500_000)).toBe(4)
  expect(await count('preview', 1_024)).toBe(3)
})
