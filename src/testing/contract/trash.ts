import { strict as assert } from 'node:assert'
import type { InvalidError, NotFoundError } from '../../core/errors.ts'
import { sha256Hex } from '../../core/hash.ts'
import { collectPages } from '../../core/pages.ts'
import { pathOf } from '../../core/path.ts'
import {
  appendTexts,
  casesOf,
  holder,
  noConversation,
  rejects,
  said,
  say,
  startConversation,
} from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('trash')

export const trashCases: readonly ContractCase[] = [
  it('moves a conversation to the trash once', async ({ store, clock }) => {
    const { conversation } = await startConversation(store)
    clock.now += 1_000
    assert.equal(await store.trash(conversation.id), true)
    const after = await store.getConversation(conversation.id)
    assert.deepEqual(after.trashedAt, new Date(clock.now))
    assert.ok(after.version > conversation.version, 'trashing raises the version')
    clock.now += 1_000
    assert.equal(await store.trash(conversation.id), false)
    assert.deepEqual((await store.getConversation(conversation.id)).trashedAt, after.trashedAt)
    assert.equal(await store.trash(noConversation), false)
  }),

  it('hides it from lists, counts, search, keys, tasks and agent links', async ({ store }) => {
    const { conversation, branch } = await startConversation(store, { key: 'cli:gone', task: 'task-1' })
    const link = { agent: 'agent', directory: '/work', foreignId: 'foreign', seen: null }
    await store.setAgentLink(branch, link)
    const living = await startConversation(store)
    const found = async () => (await store.search('two')).items.map(hit => hit.conversation.id)
    assert.equal((await found()).length, 2)
    await store.trash(conversation.id)
    const listed = await store.listConversations()
    assert.deepEqual(
      listed.items.map(item => item.id),
      [living.conversation.id],
    )
    assert.equal(await store.countConversations(), 1)
    assert.deepEqual(await found(), [living.conversation.id])
    assert.equal(await store.findByKey('cli:gone'), null)
    assert.equal(await store.findByTask('task-1'), null)
    assert.equal(await store.findByAgentLink('agent', 'foreign'), null)
  }),

  it('shows it in the list of the trash, and nothing else there', async ({ store }) => {
    const { conversation } = await startConversation(store)
    await startConversation(store)
    await store.trash(conversation.id)
    const { items } = await store.listConversations({ trashed: true })
    assert.deepEqual(
      items.map(item => [item.id, item.trashedAt !== null]),
      [[conversation.id, true]],
    )
    assert.equal(await store.countConversations({ trashed: true }), 1)
  }),

  it('refuses every write to it and says that it is in the trash', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const side = await store.createBranch(conversation.id, ids[1], { name: 'side' })
    const turn = { key: 'open', step: 0, status: 'open', holder: holder() } as const
    await store.append(side, ids[1], [say('working')], { turn })
    const { id } = conversation
    const range = { first: ids[0], last: ids[1] }
    await store.trash(id)
    const before = await store.versionOf(id)
    const writes: Record<string, () => Promise<unknown>> = {
      append: () => store.append(branch, ids[2], [say('four')]),
      'append aside': () => store.append(branch, null, [say('four')], { onConflict: 'fork' }),
      save: () => store.save(id, [{ message: say('four'), parent: null }]),
      setLabel: () => store.setLabel(ids[0], 'label'),
      updateConversation: () => store.updateConversation(id, { title: 'new' }),
      createBranch: () => store.createBranch(id, ids[0], { name: 'other' }),
      renameBranch: () => store.renameBranch(side, 'other'),
      moveBranch: () => store.moveBranch(branch, ids[2], ids[0]),
      activateBranch: () => store.activateBranch(side),
      deleteBranch: () => store.deleteBranch(side),
      setKey: () => store.setKey(branch, 'key'),
      setAgentLink: () =>
        store.setAgentLink(branch, { agent: 'a', directory: '/', foreignId: 'f', seen: null }),
      reset: () => store.reset(branch),
      putDraft: () => store.putDraft(id, 'open', holder(), [{ n: 0, type: 'text', text: 'an' }]),
      deleteMessages: () => store.deleteMessages([ids[2]]),
      eraseMessages: () => store.eraseMessages([ids[2]], { by: 'anna', reason: 'none' }),
      addEvents: () => store.addEvents(id, [{ type: 'plan' }]),
      claimSummary: () => store.claimSummary(id, range, holder()),
    }
    for (const [name, write] of Object.entries(writes)) {
      const error = await rejects<NotFoundError>(write(), 'not_found')
      assert.deepEqual([error.kind, error.id, error.trashed], ['conversation', id, true], name)
    }
    assert.equal(await store.versionOf(id), before)
  }),

  it('frees the keys of all its branches and stores them as former keys', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store, { key: 'cli:main' })
    const side = await store.createBranch(conversation.id, ids[1], { name: 'side', key: 'cli:side' })
    await store.trash(conversation.id)
    for (const [old, key] of [
      [branch, 'cli:main'],
      [side, 'cli:side'],
    ] as const) {
      const { key: now, formerKey } = await store.getBranch(old)
      assert.deepEqual([now, formerKey], [null, key])
      const next = await store.findOrCreate(key)
      assert.equal(next.created, true)
      assert.notEqual(next.conversation.id, conversation.id)
    }
  }),

  it('restores a conversation unchanged, with its keys', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store, {
      key: 'cli:back',
      task: 'task',
      tags: ['t'],
    })
    const side = await store.createBranch(conversation.id, ids[0], { name: 'side', key: 'cli:side' })
    await store.trash(conversation.id)
    assert.deepEqual(await store.restore(conversation.id), { keysTaken: [] })
    const after = await store.getConversation(conversation.id)
    assert.equal(after.trashedAt, null)
    assert.deepEqual([after.messages, after.task, after.tags], [3, 'task', ['t']])
    assert.equal((await store.findByKey('cli:back'))?.branch.name, 'main')
    assert.equal((await store.findByKey('cli:side'))?.branch.head, side.head)
    assert.equal((await store.findByTask('task'))?.conversation.id, conversation.id)
    assert.equal(await store.countConversations(), 1)
    await appendTexts(store, branch, 'four')
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three', 'four'])
  }),

  it('restores without the keys that were taken meanwhile, and names them', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store, { key: 'cli:taken' })
    const side = await store.createBranch(conversation.id, ids[1], { name: 'side', key: 'cli:free' })
    await store.trash(conversation.id)
    const taker = await store.findOrCreate('cli:taken')
    assert.deepEqual(await store.restore(conversation.id), { keysTaken: ['cli:taken'] })
    assert.equal((await store.getConversation(conversation.id)).trashedAt, null)
    assert.equal((await store.getBranch(branch)).key, null)
    assert.equal((await store.getBranch(side)).key, 'cli:free')
    assert.equal((await store.findByKey('cli:taken'))?.conversation.id, taker.conversation.id)
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three'])
  }),

  it('refuses to restore a missing conversation', async ({ store }) => {
    const error = await rejects<NotFoundError>(store.restore(noConversation), 'not_found')
    assert.deepEqual([error.kind, error.trashed], ['conversation', false])
  }),

  it('accepts a conversation more than once', async ({ store, clock }) => {
    const { conversation } = await startConversation(store, { key: 'cli:again' })
    const { id } = conversation
    for (let round = 0; round < 3; round++) {
      clock.now += 1_000
      assert.equal(await store.trash(id), true)
      assert.deepEqual((await store.getConversation(id)).trashedAt, new Date(clock.now))
      assert.equal(await store.findByKey('cli:again'), null)
      assert.deepEqual(await store.restore(id), { keysTaken: [] })
      assert.equal((await store.findByKey('cli:again'))?.conversation.id, id)
    }
  }),

  it('purges only from the trash', async ({ store }) => {
    const { conversation, branch } = await startConversation(store)
    const error = await rejects<InvalidError>(store.purge(conversation.id), 'invalid')
    assert.equal(error.field, 'conversation')
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three'])
    assert.equal((await store.purge(noConversation)).purged, false)
  }),

  it('purges a conversation with everything that belongs to it (S1-13, S1-20, S1-26, S1-46)', async ({
    store,
  }) => {
    const { conversation, ids } = await startConversation(store)
    const { id } = conversation
    await store.trash(id)
    assert.equal((await store.purge(id)).purged, true)
    const error = await rejects<NotFoundError>(store.getConversation(id), 'not_found')
    assert.deepEqual([error.kind, error.trashed], ['conversation', false])
    for (const gone of ids) await rejects(store.getMessages([gone]), 'not_found')
    await rejects(store.restore(id), 'not_found')
    assert.equal((await store.purge(id)).purged, false)
    assert.equal(await store.countConversations({ trashed: true }), 0)
    assert.deepEqual((await store.search('two')).items, [])
  }),

  it('leaves nothing for a later conversation with the same id', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store, { key: 'cli:reborn' })
    const { id } = conversation
    const range = { first: ids[0], last: ids[1] }
    await store.addEvents(id, [{ type: 'plan', data: { old: true } }])
    await store.claimSummary(id, range, holder())
    await store.putSummary(id, { ...range, tokens: 1, text: 'short', holder: holder() })
    await store.setAgentLink(branch, { agent: 'a', directory: '/', foreignId: 'f', seen: ids[0] })
    await store.append(branch, ids[2], [say('four')], { turn: { key: 'turn', step: 0 } })
    await store.trash(id)
    await store.purge(id)
    const again = await store.create({ id, key: 'cli:reborn' })
    assert.equal(again.branch.head, null)
    assert.deepEqual((await store.listMessages({ conversationId: id })).items, [])
    assert.deepEqual(await collectPages(page => store.listEvents(id, page)), [])
    assert.deepEqual(await collectPages(page => store.listSummaries(id, page)), [])
    assert.deepEqual(await collectPages(page => store.listTurns(id, page)), [])
    assert.deepEqual(await collectPages(page => store.listAgentLinks(again.branch, page)), [])
    assert.equal((await collectPages(page => store.listBranches(id, page))).length, 1)
    const retry = await store.append(again.branch, null, [say('new')], { turn: { key: 'turn', step: 0 } })
    assert.equal(retry.outcome, 'appended')
    assert.equal((await store.getMessages([retry.head]))[0]?.seq, 0)
    assert.deepEqual((await store.search('three')).items, [])
  }),

  it('purges a blob with the last conversation that refers to it, and not earlier', async ({ store }) => {
    const alone = 'alone '.repeat(4_000)
    const shared = 'shared '.repeat(4_000)
    const doomed = await store.create()
    await store.append(doomed.branch, null, [say(alone), say(shared)])
    const other = await store.create()
    await store.append(other.branch, null, [say(shared)])
    await store.trash(doomed.conversation.id)
    await store.purge(doomed.conversation.id)
    const error = await rejects<NotFoundError>(store.readBlob(sha256Hex(alone)), 'not_found')
    assert.equal(error.kind, 'blob')
    assert.equal(Buffer.from(await store.readBlob(sha256Hex(shared))).toString(), shared)
    assert.deepEqual(await said(store, other.branch), [shared])
    await store.trash(other.conversation.id)
    await store.purge(other.conversation.id)
    await rejects(store.readBlob(sha256Hex(shared)), 'not_found')
  }),

  it('keeps equal messages of another conversation', async ({ store }) => {
    const doomed = await startConversation(store)
    const other = await startConversation(store)
    await store.trash(doomed.conversation.id)
    await store.purge(doomed.conversation.id)
    assert.deepEqual(await said(store, other.branch), ['one', 'two', 'three'])
    const hits = (await store.search('two')).items
    assert.deepEqual(
      hits.map(hit => hit.message.id),
      [other.ids[1]],
    )
  }),

  it(
    'shows the change to another handle at once',
    async ({ store, second }) => {
      const { conversation, branch, ids } = await startConversation(store, { key: 'cli:here' })
      const other = await second()
      assert.equal((await other.findByKey('cli:here'))?.conversation.id, conversation.id)
      await store.trash(conversation.id)
      assert.equal(await other.findByKey('cli:here'), null)
      const error = await rejects<NotFoundError>(other.append(branch, ids[2], [say('late')]), 'not_found')
      assert.equal(error.trashed, true)
      await other.purge(conversation.id)
      await rejects(store.restore(conversation.id), 'not_found')
      await rejects(store.getMessages([ids[0]]), 'not_found')
    },
    'second handle',
  ),

  it('returns a key to the branch that had it, not to one that was reset before', async ({ store }) => {
    const { conversation, branch } = await startConversation(store, { key: 'cli:talk' })
    const { archived } = await store.reset(branch)
    await appendTexts(store, branch, 'anew')
    await store.trash(conversation.id)
    assert.deepEqual(await store.restore(conversation.id), { keysTaken: [] })
    assert.equal((await store.findByKey('cli:talk'))?.branch.name, 'main')
    assert.equal((await store.getBranch(archived!)).key, null)
    assert.deepEqual(await said(store, branch), ['anew'])
  }),

  it('purges a long conversation completely', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const lines = Array.from({ length: 4_500 }, (_, i) => `line ${i}`)
    const { ids } = await appendTexts(store, branch, ...lines)
    // More than one transaction of a purge removes.
    await store.addEvents(conversation.id, Array(2_100).fill({ type: 'plan' }))
    const other = await startConversation(store)
    await store.indexSearch()
    await store.trash(conversation.id)
    const purged = await store.purge(conversation.id)
    assert.deepEqual([purged.purged, purged.messages], [true, 4_500])
    for (const i of [0, 1_999, 2_000, 4_499]) await rejects(store.getMessages([ids[i]!]), 'not_found')
    await rejects(store.getConversation(conversation.id), 'not_found')
    assert.deepEqual((await store.search('line')).items, [])
    assert.deepEqual(await said(store, other.branch), ['one', 'two', 'three'])
  }),

  it(
    'leaves a conversation whole or removes it whole when a purge and a restore race',
    async ({ store, second }) => {
      const other = await second()
      const lines = Array.from({ length: 2_500 }, (_, i) => `line ${i}`)
      for (let round = 0; round < 3; round++) {
        const { conversation, branch } = await store.create()
        const { head } = await appendTexts(store, branch, ...lines)
        await store.trash(conversation.id)
        const [purged, restored] = await Promise.allSettled([
          store.purge(conversation.id),
          other.restore(conversation.id),
        ])
        if (restored.status === 'fulfilled') {
          assert.equal(purged.status, 'rejected')
          assert.equal((await pathOf(store, head)).length, 2_500)
          assert.deepEqual((await store.getConversation(conversation.id)).trashedAt, null)
        } else {
          assert.ok(purged.status === 'fulfilled' && purged.value.purged)
          assert.equal(purged.value.messages, 2_500)
          await rejects(store.getConversation(conversation.id), 'not_found')
        }
      }
    },
    'second handle',
  ),
]
