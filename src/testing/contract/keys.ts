import { strict as assert } from 'node:assert'
import type { KeyReusedError, NotFoundError } from '../../core/errors.ts'
import type { BranchInConversation, FoundOrCreated, Store } from '../../core/ports.ts'
import { appendTexts, casesOf, noConversation, rejects, say, startConversation } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('keys')
const day = 86_400_000

/** The conversation and the branch that a lookup found. */
const at = (place: BranchInConversation | null) => place && [place.conversation.id, place.branch.name]

/** Asserts that exactly one of these calls created the conversation that all of them returned. */
function onlyOneCreated(found: readonly FoundOrCreated[]): void {
  assert.equal(found.filter(one => one.created).length, 1)
  assert.equal(new Set(found.map(one => one.conversation.id)).size, 1)
}

const inTurn = (stores: readonly [Store, Store], calls: number) =>
  Array.from({ length: calls }, (_, i) => stores[i % 2 === 0 ? 0 : 1])

export const keyCases: readonly ContractCase[] = [
  it('finds the branch with a key, and its conversation (S0-13, S0-14, S0-18)', async ({ store }) => {
    for (const key of ['cli:default', 'discord:dm:42', 'discord:channel:42', 'discord:thread:42']) {
      const made = await store.create({ key, title: key })
      const found = await store.findByKey(key)
      assert.deepEqual(found, made)
    }
    assert.equal(await store.findByKey('cli:other'), null)
  }),
  it('compares keys exactly: no case folding, no patterns, no prefixes', async ({ store }) => {
    await store.create({ key: 'cli:default' })
    for (const key of [
      'CLI:default',
      'cli:default ',
      'cli:defaul',
      'cli:defaul_',
      'cli:%',
      '%',
      "'",
      'cli:défault',
    ]) {
      assert.equal(await store.findByKey(key), null, key)
    }
    const composed = await store.create({ key: 'caf\u00e9' })
    const decomposed = await store.create({ key: 'cafe\u0301' })
    assert.deepEqual(at(await store.findByKey('caf\u00e9')), at(composed))
    assert.deepEqual(at(await store.findByKey('cafe\u0301')), at(decomposed))
  }),
  it('refuses invalid keys', async ({ store }) => {
    for (const key of ['', 'a\0b', '\ud800', 'k'.repeat(513)]) {
      await rejects(store.findByKey(key), 'invalid')
      await rejects(store.findOrCreate(key), 'invalid')
    }
    assert.equal(await store.countConversations(), 0)
  }),
  it('refuses a second conversation with a key in use and creates nothing', async ({ store }) => {
    const first = await store.create({ key: 'cli:default' })
    const error = await rejects<KeyReusedError>(store.create({ key: 'cli:default' }), 'key_reused')
    assert.equal(error.key, 'cli:default')
    assert.equal(await store.countConversations(), 1)
    assert.deepEqual(at(await store.findByKey('cli:default')), at(first))
  }),
  it('refuses a free key with a taken id, and changes nothing of the conversation with that id', async ({
    store,
  }) => {
    const details = { tags: ['red'], metadata: { color: 'red' } }
    const { conversation, branch } = await store.create({ key: 'cli:default', ...details })
    const { id } = conversation
    // Without a branch that has the name of a first one.
    await store.renameBranch(branch, 'other')
    const before = [await store.getConversation(id), await store.listBranches(id)]
    const others = { id, tags: ['blue'], metadata: { color: 'blue' } }
    const calls = [
      () => store.create({ key: 'cli:new', ...others }),
      () => store.findOrCreate('cli:new', others),
    ]
    for (const call of calls) {
      const error = await rejects<KeyReusedError>(call(), 'key_reused')
      assert.equal(error.key, id)
    }
    assert.equal(await store.findByKey('cli:new'), null)
    assert.deepEqual([await store.getConversation(id), await store.listBranches(id)], before)
    assert.equal(await store.countConversations({ tag: 'red', metadata: { color: 'red' } }), 1)
    assert.equal(await store.countConversations({ tag: 'blue' }), 0)
    assert.equal((await store.findOrCreate('cli:default', others)).created, false)
  }),
  it('creates once and finds afterwards, without changing the existing conversation (S0-33)', async ({
    store,
  }) => {
    const made = await store.findOrCreate('cli:default', { title: 'first', channel: 'cli', prompt: 'p' })
    assert.equal(made.created, true)
    assert.deepEqual([made.branch.key, made.branch.name, made.branch.head], ['cli:default', 'main', null])
    assert.deepEqual([made.conversation.title, made.conversation.channel], ['first', 'cli'])
    await appendTexts(store, made, 'hello')
    const found = await store.findOrCreate('cli:default', { title: 'second', channel: 'discord' })
    assert.equal(found.created, false)
    assert.equal(found.conversation.id, made.conversation.id)
    assert.deepEqual(found.conversation, await store.getConversation(made.conversation.id))
    assert.deepEqual(found.branch, await store.getBranch(made.branch))
    assert.deepEqual([found.conversation.title, found.conversation.channel], ['first', 'cli'])
  }),
  it('finds a branch other than main by its key', async ({ store }) => {
    const { conversation, ids } = await startConversation(store, { key: 'discord:channel:1' })
    await store.createBranch(conversation.id, ids[1], { name: 'thread', key: 'discord:thread:2' })
    const found = await store.findOrCreate('discord:thread:2')
    assert.deepEqual([found.created, ...at(found)!], [false, conversation.id, 'thread'])
    assert.equal(found.branch.head, ids[1])
    assert.deepEqual(at(await store.findByKey('discord:channel:1')), [conversation.id, 'main'])
  }),
  it('creates one conversation however many callers ask at the same time', async ({ store }) => {
    for (let round = 0; round < 5; round++) {
      const calls = Array.from({ length: 8 }, () => store.findOrCreate(`race:${round}`))
      onlyOneCreated(await Promise.all(calls))
    }
    assert.equal(await store.countConversations(), 5)
  }),
  it(
    'creates one conversation for many calls through two handles (S3-77)',
    async ({ store, second }) => {
      const stores = [store, await second()] as const
      for (let round = 0; round < 20; round++) {
        const calls = inTurn(stores, 8).map(one => one.findOrCreate(`race:${round}`))
        onlyOneCreated(await Promise.all(calls))
      }
      assert.equal(await store.countConversations(), 20)
      assert.equal(await stores[1].countConversations(), 20)
    },
    'second handle',
  ),
  it(
    'gives the key to exactly one of many creators through two handles',
    async ({ store, second }) => {
      const stores = [store, await second()] as const
      for (let round = 0; round < 10; round++) {
        const key = `race:${round}`
        const tries = await Promise.allSettled(inTurn(stores, 8).map(one => one.create({ key })))
        assert.equal(tries.filter(one => one.status === 'fulfilled').length, 1)
        for (const one of tries) if (one.status === 'rejected') assert.equal(one.reason.code, 'key_reused')
      }
      assert.equal(await store.countConversations(), 10)
    },
    'second handle',
  ),
  it(
    'replaces an expired conversation once, however many callers ask through two handles (S2-24, S3-77)',
    async ({ store, second, clock }) => {
      const stores = [store, await second()] as const
      for (let round = 0; round < 10; round++) {
        const key = `race:${round}`
        const old = await store.create({ key, ttlMs: 1_000 })
        clock.now += 5_000
        const found = await Promise.all(inTurn(stores, 8).map(one => one.findOrCreate(key)))
        onlyOneCreated(found)
        assert.notEqual(found[0]?.conversation.id, old.conversation.id)
        assert.equal((await store.getBranch(old.branch)).formerKey, key)
      }
      assert.equal(await store.countConversations(), 20)
    },
    'second handle',
  ),
  it(
    'gives a key to exactly one of many branches through two handles',
    async ({ store, second }) => {
      const stores = [store, await second()] as const
      const places = await Promise.all(inTurn(stores, 8).map(one => one.create()))
      for (let round = 0; round < 10; round++) {
        const key = `race:${round}`
        const tries = await Promise.allSettled(
          inTurn(stores, 8).map((one, i) => one.setKey(places[i]!.branch, key)),
        )
        assert.equal(tries.filter(one => one.status === 'fulfilled').length, 1)
        for (const one of tries) if (one.status === 'rejected') assert.equal(one.reason.code, 'key_reused')
        const winner = tries.findIndex(one => one.status === 'fulfilled')
        assert.deepEqual(at(await store.findByKey(key)), at(places[winner]!))
      }
    },
    'second handle',
  ),
  it('sets the key of a branch, removes it, and sets it on another', async ({ store }) => {
    const one = await startConversation(store)
    const two = await startConversation(store)
    assert.equal((await store.setKey(one.branch, 'k')).key, 'k')
    assert.equal((await store.setKey(one.branch, 'k')).key, 'k')
    assert.deepEqual(at(await store.findByKey('k')), at(one))
    const error = await rejects<KeyReusedError>(store.setKey(two.branch, 'k'), 'key_reused')
    assert.equal(error.key, 'k')
    assert.deepEqual(await store.getBranch(two.branch), two.branch)
    assert.equal((await store.setKey(one.branch, null)).key, null)
    assert.equal(await store.findByKey('k'), null)
    const keyed = await store.setKey(two.branch, 'k')
    assert.deepEqual(keyed, await store.getBranch(two.branch))
    assert.deepEqual(at(await store.findByKey('k')), at(two))
    assert.equal((await store.getBranch(one.branch)).key, null)
  }),
  it('changes the key of a branch that has one', async ({ store }) => {
    const place = await startConversation(store, { key: 'old' })
    await store.setKey(place.branch, 'new')
    assert.equal(await store.findByKey('old'), null)
    assert.deepEqual(at(await store.findByKey('new')), at(place))
  }),
  it('moves a key to another branch, which becomes the active one if the first was', async ({ store }) => {
    const place = await startConversation(store, { key: 'k' })
    const { id } = place.conversation
    const side = await store.createBranch(id, place.ids[0], { name: 'side' })
    const moved = await store.moveKey(place.branch, 'side')
    assert.deepEqual([moved.name, moved.key], ['side', 'k'])
    assert.deepEqual(at(await store.findByKey('k')), [id, 'side'])
    const { key, formerKey } = await store.getBranch(place.branch)
    assert.deepEqual([key, formerKey], [null, null])
    assert.equal((await store.getConversation(id)).activeBranch, 'side')
    const [listed] = (await store.listConversations({ keyPrefix: 'k' })).items
    assert.deepEqual([listed?.branch.name, listed?.branch.key], ['side', 'k'])
    // Not the active branch, and without a key: nothing moves.
    const third = await store.createBranch(id, place.ids[0], { name: 'third' })
    await store.moveKey(third, 'main')
    assert.equal((await store.getConversation(id)).activeBranch, 'side')
    assert.deepEqual(at(await store.findByKey('k')), [id, 'side'])
    await store.moveKey(side, 'side')
    await store.moveKey(side, 'main')
    assert.deepEqual(at(await store.findByKey('k')), at(place))
    assert.equal((await store.getConversation(id)).activeBranch, 'main')
  }),
  it('refuses to move a key to a branch with a key, or to a missing one', async ({ store }) => {
    const { conversation, branch } = await startConversation(store, { key: 'k' })
    await store.createBranch(conversation.id, null, { name: 'side', key: 'own' })
    await rejects<KeyReusedError>(store.moveKey(branch, 'side'), 'key_reused')
    await rejects<NotFoundError>(store.moveKey(branch, 'nowhere'), 'not_found')
    assert.deepEqual(at(await store.findByKey('k')), [conversation.id, 'main'])
    assert.deepEqual(at(await store.findByKey('own')), [conversation.id, 'side'])
  }),
  it('refuses to set a key on a missing branch', async ({ store }) => {
    const { conversation } = await startConversation(store)
    const ref = { conversationId: conversation.id, name: 'nowhere' }
    const error = await rejects<NotFoundError>(store.setKey(ref, 'k'), 'not_found')
    assert.equal(error.kind, 'branch')
    await rejects(store.setKey({ conversationId: noConversation, name: 'main' }, 'k'), 'not_found')
    assert.equal(await store.findByKey('k'), null)
  }),
  it('does not find an expired conversation by its key until it is continued (S2-24, S2-34)', async ({
    store,
    clock,
  }) => {
    const place = await startConversation(store, { key: 'k', ttlMs: day })
    clock.now += day - 1
    assert.deepEqual(at(await store.findByKey('k')), at(place))
    clock.now += 2
    assert.equal(await store.findByKey('k'), null)
    await appendTexts(store, place, 'continued')
    assert.deepEqual(at(await store.findByKey('k')), at(place))
  }),
  it('moves the key of an expired conversation to a new one and stores it as the former key (S2-24, S2-34)', async ({
    store,
    clock,
  }) => {
    const old = await startConversation(store, { key: 'k', ttlMs: day })
    clock.now += 2 * day
    const made = await store.findOrCreate('k', { title: 'new' })
    assert.deepEqual([made.created, made.branch.key, made.conversation.title], [true, 'k', 'new'])
    assert.notEqual(made.conversation.id, old.conversation.id)
    const { key, formerKey, head } = await store.getBranch(old.branch)
    assert.deepEqual({ key, formerKey, head }, { key: null, formerKey: 'k', head: old.ids[2] })
    await appendTexts(store, old, 'by its id')
    assert.deepEqual(at(await store.findByKey('k')), at(made))
    assert.equal((await store.findOrCreate('k')).created, false)
  }),
  it('frees the key of a trashed conversation and stores it as the former key', async ({ store }) => {
    const old = await startConversation(store, { key: 'k' })
    await store.trash(old.conversation.id)
    assert.equal(await store.findByKey('k'), null)
    const { key, formerKey } = await store.getBranch(old.branch)
    assert.deepEqual({ key, formerKey }, { key: null, formerKey: 'k' })
    const made = await store.findOrCreate('k')
    assert.equal(made.created, true)
    assert.deepEqual(at(await store.findByKey('k')), at(made))
  }),
  it('lets create take the key of an expired conversation, unless the id is taken', async ({
    store,
    clock,
  }) => {
    const old = await startConversation(store, { key: 'k', ttlMs: day })
    clock.now += 2 * day
    const taken = { id: old.conversation.id, key: 'k' }
    assert.equal((await rejects<KeyReusedError>(store.create(taken), 'key_reused')).key, taken.id)
    assert.equal((await store.getBranch(old.branch)).key, 'k')
    const made = await store.create({ key: 'k', tags: ['red'] })
    assert.deepEqual(at(await store.findByKey('k')), at(made))
    assert.equal((await store.getBranch(old.branch)).formerKey, 'k')
    assert.equal(await store.countConversations({ tag: 'red' }), 1)
  }),
  it('lets setKey take the key of an expired conversation', async ({ store, clock }) => {
    for (const take of [
      (other: BranchInConversation) => store.setKey(other.branch, 'k'),
      (other: BranchInConversation) =>
        store.createBranch(other.conversation.id, null, { name: 'side', key: 'k' }),
      async () => (await store.create({ key: 'k' })).branch,
    ]) {
      const old = await store.findOrCreate('k', { expiresAt: new Date(clock.now + 1_000) })
      const other = await store.create()
      clock.now += 1_000
      const taken = await take(other)
      assert.deepEqual([taken.key, (await store.findByKey('k'))?.branch.name], ['k', taken.name])
      const before = await store.getBranch(old.branch)
      assert.deepEqual([before.key, before.formerKey], [null, 'k'])
      await store.setKey(taken, null)
    }
  }),
  it('continues a found conversation with the returned branch (S0-33)', async ({ store }) => {
    await startConversation(store, { key: 'k', task: 't' })
    const byKey = await store.findByKey('k')
    const { head } = await store.append(byKey!.branch, byKey!.branch.head, [say('four')])
    const byTask = await store.findByTask('t')
    assert.equal(byTask?.branch.head, head)
    assert.equal((await store.append(byTask!.branch, head, [say('five')])).outcome, 'appended')
  }),
]
