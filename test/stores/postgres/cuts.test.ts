import { expect, it } from 'vitest'
import type { BranchRef } from '../../../src/core/branch.ts'
import { OutcomeUnknownError, UnavailableError } from '../../../src/core/errors.ts'
import type { NewMessage, NonEmpty } from '../../../src/core/message.ts'
import { openPostgresStore, postgresStore } from '../../../src/stores/postgres/index.ts'
import { prepare } from '../../../src/stores/postgres/prepared.ts'
import { openTurnSql } from '../../../src/stores/postgres/queries/append.ts'
import { queries } from '../../../src/stores/postgres/queries/index.ts'
import { freshDatabase, openPool } from './database.ts'
import { startProxy } from './proxy.ts'

const url = await freshDatabase()
const direct = await postgresStore(openPool(url))

const words: NonEmpty<NewMessage> = [{ role: 'user', content: 'Are you there?' }]
const turn = { key: 'turn-1', step: 0 }
const commit = prepare('COMMIT').name
const quick = prepare(openTurnSql).name

const cuts = [
  ['an append, before the server has it', quick, 'before', 0],
  ['an append, after the server has it', quick, 'after', 1],
] as const

it.each(cuts)('reports an unknown outcome for %s, and a retry stores it once (R23)', async (...cut) => {
  const [, name, when, stored] = cut
  const proxy = await startProxy(url)
  const store = await openPostgresStore(proxy.url)
  const { branch } = await store.create()
  proxy.cut = sent => (sent.includes(name) ? when : null)
  const append = () => store.append(branch, null, words, { turn })
  await expect(append()).rejects.toBeInstanceOf(OutcomeUnknownError)
  proxy.cut = () => null
  expect((await direct.getConversation(branch.conversationId)).messages).toBe(stored)
  expect(await append()).toMatchObject({ outcome: stored === 0 ? 'appended' : 'replayed' })
  expect((await direct.getConversation(branch.conversationId)).messages).toBe(1)
  await store.close()
})

it.each(['before', 'after'] as const)(
  'reports an unknown outcome to each append of a shared request that was cut %s it arrived, and retries store each once (R23)',
  async when => {
    const proxy = await startProxy(url)
    const store = await openPostgresStore(proxy.url, { indexing: 'manual' })
    const branches = await Promise.all(Array.from({ length: 30 }, async () => (await store.create()).branch))
    let cuts = 0
    proxy.cut = sent => (sent.includes('lock_timeout') && cuts++ < 2 ? when : null)
    const append = (branch: BranchRef) => store.append(branch, null, words, { turn })
    const outcomes = await Promise.allSettled(branches.map(append))
    const failed = branches.filter((_, i) => outcomes[i]!.status === 'rejected')
    // Two requests, which had at least two appends each.
    expect(failed.length).toBeGreaterThanOrEqual(4)
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(OutcomeUnknownError)
    for (const branch of branches) {
      const { messages } = await direct.getConversation(branch.conversationId)
      expect(messages).toBe(failed.includes(branch) && when === 'before' ? 0 : 1)
    }
    for (const branch of failed)
      expect((await append(branch)).outcome).toBe(when === 'before' ? 'appended' : 'replayed')
    for (const branch of branches)
      expect((await direct.getConversation(branch.conversationId)).messages).toBe(1)
    await store.close()
  },
)

it.each(['before', 'after'] as const)(
  'reports an unknown outcome for a commit whose connection was cut %s it arrived',
  async when => {
    const proxy = await startProxy(url)
    const store = await openPostgresStore(proxy.url)
    const { conversation } = await store.create()
    proxy.cut = sent => (sent.includes(commit) ? when : null)
    const update = store.updateConversation(conversation.id, { title: when })
    await expect(update).rejects.toBeInstanceOf(OutcomeUnknownError)
    const { title } = await direct.getConversation(conversation.id)
    expect(title).toBe(when === 'after' ? 'after' : null)
    await store.close()
  },
)

it('reports that nothing was written if the connection broke before the commit was sent', async () => {
  const proxy = await startProxy(url)
  const store = await openPostgresStore(proxy.url)
  const { conversation } = await store.create()
  const begin = prepare('BEGIN ISOLATION LEVEL READ COMMITTED').name
  proxy.cut = sent => (sent.includes(begin) ? 'after' : null)
  const update = store.updateConversation(conversation.id, { title: 'No' })
  await expect(update).rejects.toBeInstanceOf(UnavailableError)
  proxy.cut = () => null
  expect((await store.getConversation(conversation.id)).title).toBeNull()
  await store.close()
})

it.each(['before', 'after'] as const)(
  'creates nothing if the connection broke %s the conversation arrived, because the commit is sent later',
  async when => {
    const proxy = await startProxy(url)
    const store = await openPostgresStore(proxy.url)
    const insert = prepare(queries.insertConversation as string).name
    proxy.cut = sent => (sent.includes(insert) ? when : null)
    const key = `cut ${when}`
    await expect(store.create({ key, tags: [key] })).rejects.toBeInstanceOf(UnavailableError)
    await expect(store.findOrCreate(key, { tags: [key] })).rejects.toBeInstanceOf(UnavailableError)
    proxy.cut = () => null
    expect([await direct.findByKey(key), await direct.countConversations({ tag: key })]).toEqual([null, 0])
    expect((await store.findOrCreate(key, { tags: [key] })).created).toBe(true)
    await store.close()
  },
)

it('is unavailable to a reader whose connection breaks, and available to the next one', async () => {
  const proxy = await startProxy(url)
  const store = await openPostgresStore(proxy.url)
  const { conversation } = await store.create()
  for (const when of ['before', 'after'] as const) {
    proxy.cut = () => when
    await expect(store.getConversation(conversation.id)).rejects.toBeInstanceOf(UnavailableError)
    proxy.cut = () => null
    expect((await store.getConversation(conversation.id)).id).toBe(conversation.id)
  }
  await store.close()
})
