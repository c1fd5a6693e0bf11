import { strict as assert } from 'node:assert'
import type { NewConversation } from '../../core/conversation.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { ConversationFilter, ListDirectories } from '../../core/listing.ts'
import { collectPages } from '../../core/pages.ts'
import type { Store } from '../../core/ports.ts'
import { casesOf, rejects } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('list filters')

/** The titles that pass a filter, in alphabetical order. The count must agree. */
async function titles(store: Store, filter: ConversationFilter = {}): Promise<(string | null)[]> {
  const { items } = await store.listConversations({ ...filter, limit: 1_000 })
  assert.equal(await store.countConversations(filter), items.length, JSON.stringify(filter))
  return items.map(one => one.title).sort()
}

async function fill(store: Store, metadata: Record<string, NewConversation['metadata']>): Promise<void> {
  for (const [title, one] of Object.entries(metadata))
    await store.create({ title, ...(one && { metadata: one }) })
}

export const listFilterCases: readonly ContractCase[] = [
  it('filters by metadata, by value and by type (S2-10, S2-67)', async ({ store }) => {
    await fill(store, {
      text: { n: '1', agent_id: 'a-1' },
      number: { n: 1, agent_id: 'a-2' },
      fraction: { n: 1.5 },
      true: { n: true },
      false: { n: false },
      'text true': { n: 'true' },
      null: { n: null },
      list: { n: [1, '1'] },
      nested: { n: { n: 1 }, deep: { agent_id: 'a-1' } },
      none: {},
    })
    const n = (value: string | number | boolean) => titles(store, { metadata: { n: value } })
    assert.deepEqual(await n('1'), ['text'])
    assert.deepEqual(await n(1), ['number'])
    assert.deepEqual(await n(1.5), ['fraction'])
    assert.deepEqual(await n(true), ['true'])
    assert.deepEqual(await n(false), ['false'])
    assert.deepEqual(await n('true'), ['text true'])
    for (const value of [0, 2, '', 'null', '%', '[1,"1"]']) assert.deepEqual(await n(value), [], `${value}`)
    assert.deepEqual(await titles(store, { metadata: { agent_id: 'a-1' } }), ['text'])
    assert.deepEqual(await titles(store, { metadata: { n: 1, agent_id: 'a-2' } }), ['number'])
    assert.deepEqual(await titles(store, { metadata: { n: 1, agent_id: 'a-1' } }), [])
    assert.equal((await titles(store, { metadata: {} })).length, 10)
  }),
  it('filters by metadata under any key and with any text (S2-67)', async ({ store }) => {
    const odd = ['a.b', '$.a', 'a"b', "a'b", 'a[0]', 'ключ', ' ', 'a\\b', 'constructor', '😀']
    for (const key of odd) await store.create({ title: key, metadata: { [key]: 'v' } })
    await store.create({ title: 'nested', metadata: { a: { b: 'v' } } })
    for (const key of odd) assert.deepEqual(await titles(store, { metadata: { [key]: 'v' } }), [key], key)
    await store.create({ title: 'nul', metadata: { nul: 'a\u0000b', lone: '\ud800' } })
    assert.deepEqual(await titles(store, { metadata: { a: 'v' } }), [])
    for (const text of ["it's", 'a"b', '\\', '100%', 'é', '日本語', '\n']) {
      await store.create({ title: text, metadata: { text } })
    }
    assert.deepEqual(await titles(store, { metadata: { text: "it's" } }), ["it's"])
    assert.deepEqual(await titles(store, { metadata: { text: 'a"b' } }), ['a"b'])
    assert.deepEqual(await titles(store, { metadata: { text: '\\' } }), ['\\'])
    assert.deepEqual(await titles(store, { metadata: { text: '日本語' } }), ['日本語'])
    assert.deepEqual(await titles(store, { metadata: { text: '\n' } }), ['\n'])
    assert.deepEqual(await titles(store, { metadata: { text: 'e\u0301' } }), [])
  }),
  it('filters by the beginning of the label: the runs of a subagent, or one of them (S3-74)', async ({
    store,
  }) => {
    const labels = [
      'subagent:explorer:r1',
      'subagent:explorer:r10',
      'subagent:explorers:r1',
      'subagent:a%:r1',
    ]
    for (const label of labels) await store.create({ title: label, label, kind: 'subagent' })
    await store.create({ title: 'topic', label: 'subagents are discussed' })
    await store.create({ title: 'none' })
    const by = (labelPrefix: string) => titles(store, { labelPrefix })
    assert.deepEqual(await by('subagent:explorer:'), ['subagent:explorer:r1', 'subagent:explorer:r10'])
    assert.deepEqual(await by('subagent:explorer:r10'), ['subagent:explorer:r10'])
    assert.deepEqual(await by('subagent:a%:'), ['subagent:a%:r1'])
    assert.deepEqual(await by('subagent:%'), [])
    assert.deepEqual(await by('SUBAGENT:'), [])
    assert.equal((await by('subagent')).length, 5)
    assert.equal((await by('')).length, 5)
    assert.equal((await titles(store, { labelPrefix: 'subagent', kind: 'subagent' })).length, 4)
    const [one] = (await store.listConversations({ labelPrefix: 'subagent:explorers:' })).items
    await store.updateConversation(one!.id, { label: 'subagent:finder:r1' })
    assert.deepEqual(await by('subagent:explorers:'), [])
    assert.deepEqual(await by('subagent:finder:'), ['subagent:explorers:r1'])
    await rejects(store.listConversations({ labelPrefix: 'l'.repeat(513) }), 'invalid')
  }),
  it('pages through a list by label, newest first', async ({ store, clock }) => {
    for (let n = 0; n < 5; n++) {
      await store.create({ title: `${n}`, label: 'topic' })
      await store.create({ title: `other ${n}`, label: 'other' })
      clock.now += 1_000
    }
    const first = await store.listConversations({ labelPrefix: 'topic', limit: 3 })
    assert.deepEqual(
      first.items.map(one => one.title),
      ['4', '3', '2'],
    )
    const rest = await store.listConversations({ labelPrefix: 'topic', limit: 3, after: first.next! })
    assert.deepEqual(
      rest.items.map(one => one.title),
      ['1', '0'],
    )
    assert.equal(rest.next, null)
  }),
  it('filters by current metadata after a change', async ({ store }) => {
    const { conversation } = await store.create({ title: 't', metadata: { n: 1 } })
    await store.updateConversation(conversation.id, { metadata: { m: 2 } })
    assert.deepEqual(await titles(store, { metadata: { n: 1 } }), [])
    assert.deepEqual(await titles(store, { metadata: { m: 2 } }), ['t'])
  }),
  it('lists the directories of the conversations, each once, and those within one', async ({ store }) => {
    const directories = ['/a', '/a/b', '/a/b/c', '/a-b', '/a.b', '/a0', '/ab', '/A', '/é', '/z']
    for (const directory of [...directories, '/a/b', '/z']) await store.create({ directory })
    await store.create({ title: 'without one' })
    const { conversation } = await store.create({ directory: '/a/trash' })
    await store.trash(conversation.id)
    const list = async (options: ListDirectories) => (await store.listDirectories(options)).items
    const inOrder = ['/A', '/a', '/a-b', '/a.b', '/a/b', '/a/b/c', '/a0', '/ab', '/z', '/é']
    assert.deepEqual(await list({}), inOrder)
    assert.deepEqual(await list({ within: '/' }), inOrder)
    assert.deepEqual(await list({ within: '/a' }), ['/a', '/a/b', '/a/b/c'])
    assert.deepEqual(await list({ within: '/a/' }), ['/a/b', '/a/b/c'])
    assert.deepEqual(await list({ within: '/a/b' }), ['/a/b', '/a/b/c'])
    assert.deepEqual(await list({ within: '/nowhere' }), [])
    assert.deepEqual(await list({ trashed: true }), ['/a/trash'])
    assert.deepEqual(await list({ within: '/z', trashed: true }), [])
    const pages = await collectPages(page => store.listDirectories({ within: '/a', ...page, limit: 2 }))
    assert.deepEqual(pages, ['/a', '/a/b', '/a/b/c'])
    await rejects(store.listDirectories({ within: '/a\0b' }), 'invalid')
    await rejects(store.listDirectories({ limit: 0 }), 'invalid')
    await rejects(store.listDirectories({ after: 'nonsense' }), 'invalid')
  }),
  it('filters by the time of last activity, including from and excluding before', async ({
    store,
    clock,
  }) => {
    const begin = clock.now
    for (const title of ['0', '1', '2', '3']) {
      await store.create({ title })
      clock.now += 1_000
    }
    const time = (n: number) => new Date(begin + n * 1_000)
    assert.deepEqual(await titles(store, { updatedFrom: time(2) }), ['2', '3'])
    assert.deepEqual(await titles(store, { updatedBefore: time(2) }), ['0', '1'])
    assert.deepEqual(await titles(store, { updatedFrom: time(1), updatedBefore: time(3) }), ['1', '2'])
    assert.deepEqual(await titles(store, { updatedFrom: time(1), updatedBefore: time(1) }), [])
    assert.deepEqual(await titles(store, { updatedFrom: time(9) }), [])
    for (const bad of [new Date(Number.NaN), '2026-01-01' as unknown as Date]) {
      await rejects(store.listConversations({ updatedFrom: bad }), 'invalid')
      await rejects(store.countConversations({ updatedBefore: bad }), 'invalid')
    }
  }),
  it('filters by expiry, including conversations that expire at this moment', async ({ store, clock }) => {
    await store.create({ title: 'never' })
    for (const n of [1, 2, 3])
      await store.create({ title: `${n}`, expiresAt: new Date(clock.now + n * 1_000) })
    const time = (n: number) => new Date(clock.now + n * 1_000)
    assert.deepEqual(await titles(store, { expiredBy: time(0) }), [])
    assert.deepEqual(await titles(store, { expiredBy: time(2) }), ['1', '2'])
    assert.deepEqual(await titles(store, { expiredBy: time(9), title: '3' }), ['3'])
    await rejects(store.listConversations({ expiredBy: new Date(Number.NaN) }), 'invalid')
  }),
  it('lists the trash separately, with the same filters', async ({ store }) => {
    const ids: Record<string, ConversationId> = {}
    for (const title of ['living', 'gone cli', 'gone discord']) {
      const made = await store.create({ title, channel: title === 'gone discord' ? 'discord' : 'cli' })
      ids[title] = made.conversation.id
    }
    await store.trash(ids['gone cli']!)
    await store.trash(ids['gone discord']!)
    assert.deepEqual(await titles(store), ['living'])
    assert.deepEqual(await titles(store, { channel: 'discord' }), [])
    assert.deepEqual(await titles(store, { trashed: true }), ['gone cli', 'gone discord'])
    assert.deepEqual(await titles(store, { trashed: true, channel: 'cli' }), ['gone cli'])
    const [item] = (await store.listConversations({ trashed: true, channel: 'cli' })).items
    assert.ok(item?.trashedAt)
    assert.equal(item.branch.name, 'main')
    await store.restore(ids['gone cli']!)
    assert.deepEqual(await titles(store, { trashed: true }), ['gone discord'])
    assert.deepEqual(await titles(store, { channel: 'cli' }), ['gone cli', 'living'])
  }),
  it('lists expired conversations until they are swept', async ({ store, clock }) => {
    await store.create({ title: 'expired', key: 'k', task: 't', ttlMs: 1_000 })
    clock.now += 1_000_000
    assert.deepEqual(await titles(store), ['expired'])
    assert.deepEqual(await titles(store, { keyPrefix: 'k', task: 't' }), ['expired'])
  }),
  it('applies all filters together (S2-67)', async ({ store, clock }) => {
    const parent = await store.create({ title: 'parent' })
    clock.now += 10_000
    const all = {
      channel: 'cli',
      directory: '/d',
      project: 'p',
      task: 't',
      kind: 'subagent',
      key: 'cli:0',
      tags: ['x', 'y'],
      title: 'Matches all',
      metadata: { agent_id: 'a', n: 1 },
      parent: { conversationId: parent.conversation.id, messageId: null },
    } satisfies NewConversation
    const { key: _, ...keyless } = all
    const others: NewConversation[] = [
      keyless,
      { ...all, channel: 'discord' },
      { ...all, directory: '/e' },
      { ...all, project: 'q' },
      { ...all, task: 'u' },
      { ...all, kind: 'main' },
      { ...all, tags: ['y'] },
      { ...all, title: 'other' },
      { ...all, metadata: { agent_id: 'a', n: 2 } },
      { ...all, parent: { conversationId: (await store.create()).conversation.id, messageId: null } },
    ]
    const { conversation } = await store.create(all)
    for (const [i, other] of others.entries()) {
      await store.create('key' in other ? { ...other, key: `cli:${i + 1}` } : other)
    }
    const filter = {
      channel: 'cli',
      directory: '/d',
      project: 'p',
      task: 't',
      kind: 'subagent',
      keyPrefix: 'cli:',
      tag: 'x',
      title: 'matches',
      metadata: { agent_id: 'a', n: 1 },
      parent: parent.conversation.id,
      updatedFrom: new Date(clock.now),
      updatedBefore: new Date(clock.now + 1),
    } as const
    const { items } = await store.listConversations(filter)
    assert.deepEqual(
      items.map(one => one.id),
      [conversation.id],
    )
    assert.equal(await store.countConversations(filter), 1)
    // Each filter has an effect: without it, one more conversation passes.
    for (const field of Object.keys(filter)) {
      if (field.startsWith('updated')) continue
      const { [field as keyof typeof filter]: __, ...rest } = filter
      assert.equal(await store.countConversations(rest), 2, `without ${field}`)
    }
    assert.equal(await store.countConversations({ ...filter, updatedFrom: new Date(clock.now + 1) }), 0)
    assert.equal(await store.countConversations({ ...filter, updatedBefore: new Date(clock.now) }), 0)
  }),
]
