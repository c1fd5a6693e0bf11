import { strict as assert } from 'node:assert'
import type { NewConversation } from '../../core/conversation.ts'
import type { SearchOptions } from '../../core/listing.ts'
import { textOf } from '../../core/message.ts'
import type { Store } from '../../core/ports.ts'
import { casesOf, rejects, say } from './build.ts'
import type { ContractCase } from './contract-case.ts'
import { budgetMs, pages } from './search-pages.ts'

const it = casesOf('search in a part of the store')

/** A conversation with one message: `heron of <name>`. */
async function plant(store: Store, name: string, conversation: NewConversation): Promise<void> {
  const { branch } = await store.create(conversation)
  await store.append(branch, null, [say(`heron of ${name}`)])
}

async function found(store: Store, options: SearchOptions, query = 'heron'): Promise<readonly string[]> {
  const { items, unindexed } = await store.search(query, { limit: 200, budgetMs, ...options })
  assert.equal(unindexed, 0)
  return items.map(({ message }) => textOf(message).slice('heron of '.length)).sort()
}

export const searchFilterCases: readonly ContractCase[] = [
  it('filters by key prefix, metadata, tag, channel, project and label prefix', async ({ store }) => {
    const user = (name: string, n: number): NewConversation => ({
      key: `web:${name}:${n}`,
      metadata: { user: name, n },
      tags: n === 1 ? ['pinned', name] : [name],
      channel: n === 1 ? 'web' : 'discord',
      ...(n === 1 && { project: `project of ${name}` }),
      label: `run:${name}:${n}`,
    })
    for (const name of ['ada', 'adam', 'bob'])
      for (const n of [1, 2]) await plant(store, `${name} ${n}`, user(name, n))
    await plant(store, 'none', {})
    const check = async () => {
      assert.deepEqual(await found(store, { keyPrefix: 'web:ada:' }), ['ada 1', 'ada 2'])
      assert.deepEqual(await found(store, { keyPrefix: 'web:ada' }), ['ada 1', 'ada 2', 'adam 1', 'adam 2'])
      assert.deepEqual(await found(store, { metadata: { user: 'ada' } }), ['ada 1', 'ada 2'])
      assert.deepEqual(await found(store, { metadata: { user: 'ada', n: 2 } }), ['ada 2'])
      assert.deepEqual(await found(store, { metadata: { user: 'ada', n: '2' } }), [])
      assert.deepEqual((await found(store, { metadata: {} })).length, 7)
      assert.deepEqual(await found(store, { tag: 'pinned' }), ['ada 1', 'adam 1', 'bob 1'])
      assert.deepEqual(await found(store, { channel: 'discord', tag: 'bob' }), ['bob 2'])
      assert.deepEqual(await found(store, { channel: null }), ['none'])
      assert.deepEqual(await found(store, { project: 'project of bob' }), ['bob 1'])
      assert.deepEqual(await found(store, { project: null, channel: 'discord' }), [
        'ada 2',
        'adam 2',
        'bob 2',
      ])
      assert.deepEqual(await found(store, { labelPrefix: 'run:ada:' }), ['ada 1', 'ada 2'])
      assert.deepEqual(await found(store, { keyPrefix: 'web:cy' }), [])
      assert.deepEqual(await found(store, { keyPrefix: 'web:ada' }, 'heron -adam'), ['ada 1', 'ada 2'])
      assert.deepEqual(await found(store, { keyPrefix: 'web:bob', order: 'ranked' }, 'her*'), [
        'bob 1',
        'bob 2',
      ])
      const one = await store.findByKey('web:ada:1')
      const conversations = [one!.conversation.id]
      assert.deepEqual(await found(store, { conversations, keyPrefix: 'web:ada:' }), ['ada 1'])
      assert.deepEqual(await found(store, { conversations, keyPrefix: 'web:bob' }), [])
      assert.deepEqual(await found(store, { tag: 'bob' }, `heron in:${one!.conversation.id}`), [])
    }
    // Messages that are not in the index yet, and the same messages in the index.
    await check()
    await store.indexSearch()
    await check()
    await store.trash((await store.findByKey('web:ada:1'))!.conversation.id)
    assert.deepEqual(await found(store, { metadata: { user: 'ada' } }), ['ada 2'])
  }),
  it('finds the messages of more conversations than the index can be asked for by name', async ({
    store,
    clock,
  }) => {
    const wanted: string[] = []
    for (let group = 0; group < 26; group++) {
      clock.now++
      const plants: Promise<void>[] = [plant(store, `out ${group}`, { tags: ['out'] })]
      for (let n = group * 40; n < group * 40 + 40; n++) {
        wanted.push(`in ${n}`)
        plants.push(plant(store, `in ${n}`, { tags: ['in'] }))
      }
      await Promise.all(plants)
    }
    await store.indexSearch()
    const all = await pages(store, 'heron', { tag: 'in', limit: 200 })
    const messages = await store.getMessages(all)
    const names = messages.map(message => textOf(message).slice('heron of '.length))
    assert.deepEqual(names.toSorted(), wanted.toSorted())
    const times = messages.map(message => message.createdAt.getTime())
    assert.deepEqual(
      times,
      times.toSorted((a, b) => b - a),
    )
    assert.deepEqual(await found(store, { tag: 'in' }, 'heron 1007'), ['in 1007'])
  }),
  it('refuses wrong filters', async ({ store }) => {
    await rejects(store.search('a', { keyPrefix: 1 as never }), 'invalid')
    await rejects(store.search('a', { tag: '' }), 'invalid')
    await rejects(store.search('a', { metadata: { user: {} as never } }), 'invalid')
  }),
]
