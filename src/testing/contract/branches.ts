import { strict as assert } from 'node:assert'
import type { BranchInfo } from '../../core/branch.ts'
import type {
  BusyError,
  ConflictError,
  InvalidError,
  KeyReusedError,
  NotFoundError,
} from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import { collectPages } from '../../core/pages.ts'
import { pathOf } from '../../core/path.ts'
import {
  appendTexts,
  casesOf,
  holder,
  noConversation,
  noMessage,
  rejects,
  said,
  say,
  startConversation,
} from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('branches')

const badMessage = 'not-an-id' as MessageId
const link = { agent: 'copilot', directory: '/', foreignId: 'theirs', seen: null }

/** The listed fields of each branch, without times and keys. */
const outline = (branches: readonly BranchInfo[]) =>
  branches.map(({ name, head, base, messagesSinceBase, active }) => [
    name,
    head,
    base,
    messagesSinceBase,
    active,
  ])

export const branchCases: readonly ContractCase[] = [
  it('forks at any message and copies nothing (S3-2, S3-31)', async ({ store, clock }) => {
    const { conversation, branch, ids } = await startConversation(store)
    clock.now += 1_000
    for (const [i, id] of ids.entries()) {
      const made = await store.createBranch(conversation.id, id, { name: `at-${i}` })
      assert.deepEqual(made, {
        conversationId: conversation.id,
        name: `at-${i}`,
        head: id,
        key: null,
        formerKey: null,
        title: null,
        createdAt: new Date(clock.now),
        updatedAt: new Date(clock.now),
      })
      assert.deepEqual(await store.getBranch(made), made)
    }
    assert.equal((await store.getConversation(conversation.id)).messages, 3)
    assert.deepEqual(await store.getBranch(branch), branch)
  }),
  it('continues a fork without changing the original branch (S3-2, S3-31)', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const side = await store.createBranch(conversation.id, ids[0], { name: 'side' })
    await appendTexts(store, side, 'other two')
    await appendTexts(store, branch, 'four')
    assert.deepEqual(await said(store, side), ['one', 'other two'])
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three', 'four'])
  }),
  it('creates an empty branch, whose first message is a new root (S3-8)', async ({ store }) => {
    const { conversation } = await startConversation(store)
    const empty = await store.createBranch(conversation.id, null, { name: 'empty' })
    assert.equal(empty.head, null)
    const { ids } = await appendTexts(store, empty, 'another beginning')
    const [root] = await store.getMessages(ids)
    assert.deepEqual([root?.parentId, root?.depth, root?.seq], [null, 0, 3])
  }),
  it('stores the key and the title of a branch', async ({ store }) => {
    const { conversation, ids } = await startConversation(store)
    const thread = { name: 'thread', key: 'discord:thread:1', title: 'A side-talk — 日本' }
    const made = await store.createBranch(conversation.id, ids[1], thread)
    assert.deepEqual([made.name, made.key, made.title], [thread.name, thread.key, thread.title])
    const found = await store.findByKey('discord:thread:1')
    assert.deepEqual(found?.branch, made)
    assert.equal(found?.conversation.id, conversation.id)
  }),
  it('refuses taken names and keys and creates nothing', async ({ store }) => {
    const { conversation, ids } = await startConversation(store, { key: 'k' })
    const other = await startConversation(store)
    const taken = store.createBranch(conversation.id, ids[0], { name: 'main' })
    assert.equal((await rejects<KeyReusedError>(taken, 'key_reused')).key, 'main')
    const keyed = store.createBranch(other.conversation.id, null, { name: 'side', key: 'k' })
    assert.equal((await rejects<KeyReusedError>(keyed, 'key_reused')).key, 'k')
    for (const name of ['', 'a\0b', '\udc00', 'n'.repeat(513)]) {
      await rejects(store.createBranch(conversation.id, null, { name }), 'invalid')
    }
    for (const { id } of [conversation, other.conversation]) {
      assert.deepEqual(
        (await collectPages(page => store.listBranches(id, page))).map(one => one.name),
        ['main'],
      )
    }
  }),
  it('refuses to fork at a message of another conversation', async ({ store }) => {
    const { conversation } = await startConversation(store)
    const other = await startConversation(store)
    for (const id of [other.ids[1], noMessage]) {
      const promise = store.createBranch(conversation.id, id, { name: 'side' })
      const error = await rejects<NotFoundError>(promise, 'not_found')
      assert.deepEqual([error.kind, error.id], ['message', id])
    }
    await rejects(store.createBranch(conversation.id, badMessage, { name: 'side' }), 'invalid')
    const nowhere = store.createBranch(noConversation, null, { name: 'side' })
    assert.equal((await rejects<NotFoundError>(nowhere, 'not_found')).kind, 'conversation')
  }),
  it('names the missing branch', async ({ store }) => {
    const { conversation, ids } = await startConversation(store)
    const ref = { conversationId: conversation.id, name: 'nowhere' }
    const calls = [
      store.getBranch(ref),
      store.renameBranch(ref, 'x'),
      store.deleteBranch(ref),
      store.moveBranch(ref, null, ids[0]),
      store.activateBranch(ref),
      store.reset(ref),
    ]
    for (const error of await Promise.all(calls.map(call => rejects<NotFoundError>(call, 'not_found')))) {
      assert.equal(error.kind, 'branch')
    }
    await rejects(store.getBranch({ conversationId: conversation.id, name: 'MAIN' }), 'not_found')
    assert.equal((await collectPages(page => store.listBranches(conversation.id, page))).length, 1)
  }),
  it('lists branches, oldest first, with their base and the number of messages since', async ({
    store,
    clock,
  }) => {
    const { conversation, ids } = await startConversation(store)
    const { id } = conversation
    const fork = async (name: string, at: MessageId | null, ...more: string[]) => {
      clock.now += 1_000
      const made = await store.createBranch(id, at, { name })
      const [first, ...rest] = more
      return first === undefined ? at : (await appendTexts(store, made, first, ...rest)).head
    }
    const z = await fork('z', ids[1], 'a', 'b')
    const ahead = await fork('ahead', ids[2], 'c')
    const behind = await fork('behind', ids[0])
    const empty = await fork('empty', null)
    const apart = await fork('apart', null, 'd', 'e', 'f')
    const nested = await fork('nested', z, 'g')
    await store.activateBranch({ conversationId: id, name: 'z' })
    assert.deepEqual(outline(await collectPages(page => store.listBranches(id, page))), [
      ['main', ids[2], null, 3, false],
      ['z', z, ids[1], 2, true],
      ['ahead', ahead, ids[2], 1, false],
      ['behind', behind, ids[0], 0, false],
      ['empty', empty, null, 0, false],
      ['apart', apart, null, 3, false],
      ['nested', nested, ids[1], 3, false],
    ])
  }),
  it('lists all fields of each branch, with the time of its last activity', async ({ store, clock }) => {
    const { conversation, branch } = await startConversation(store, { key: 'k' })
    clock.now += 7_000
    await appendTexts(store, branch, 'four')
    const [main] = await collectPages(page => store.listBranches(conversation.id, page))
    const { active, base, messagesSinceBase, ...rest } = main!
    assert.deepEqual(rest, await store.getBranch(branch))
    assert.deepEqual([active, base, messagesSinceBase], [true, null, 4])
    assert.equal(rest.key, 'k')
    assert.deepEqual(rest.updatedAt, new Date(clock.now))
    assert.deepEqual(rest.createdAt, branch.createdAt)
  }),
  it('measures from main even if other branches have the same millisecond', async ({ store }) => {
    const { conversation, ids } = await startConversation(store)
    for (const name of ['zeta', 'alpha', 'Main']) await store.createBranch(conversation.id, ids[1], { name })
    const [main, ...others] = outline(await collectPages(page => store.listBranches(conversation.id, page)))
    assert.deepEqual(main, ['main', ids[2], null, 3, true])
    assert.deepEqual(others.map(([name]) => name).sort(), ['Main', 'alpha', 'zeta'])
    for (const other of others) assert.deepEqual(other.slice(1), [ids[1], ids[1], 0, false])
  }),
  it('renames a branch and keeps its head, key, links and active state', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store, { key: 'k' })
    await store.setAgentLink(branch, link)
    const renamed = await store.renameBranch(branch, 'trunk')
    assert.deepEqual([renamed.name, renamed.head, renamed.key], ['trunk', ids[2], 'k'])
    assert.deepEqual(await store.getBranch(renamed), renamed)
    await rejects(store.getBranch(branch), 'not_found')
    assert.equal((await store.getConversation(conversation.id)).activeBranch, 'trunk')
    assert.equal((await store.findByKey('k'))?.branch.name, 'trunk')
    assert.equal((await store.findByAgentLink('copilot', 'theirs'))?.branch.name, 'trunk')
    assert.equal((await collectPages(page => store.listAgentLinks(renamed, page)))[0]?.name, 'trunk')
    await appendTexts(store, renamed, 'four')
    assert.deepEqual(await said(store, renamed), ['one', 'two', 'three', 'four'])
  }),
  it('renames an inactive branch and refuses taken and invalid names', async ({ store }) => {
    const { conversation, ids } = await startConversation(store)
    const side = await store.createBranch(conversation.id, ids[0], { name: 'side' })
    await rejects(store.renameBranch(side, 'main'), 'key_reused')
    await rejects(store.renameBranch(side, ''), 'invalid')
    assert.deepEqual(await store.getBranch(side), side)
    await store.renameBranch(side, 'aside')
    assert.equal((await store.getConversation(conversation.id)).activeBranch, 'main')
    assert.deepEqual(
      (await collectPages(page => store.listBranches(conversation.id, page))).map(one => one.name).sort(),
      ['aside', 'main'],
    )
    await store.createBranch(conversation.id, null, { name: 'side' })
  }),
  it('deletes a branch, keeps its messages and frees its key and links', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const side = await store.createBranch(conversation.id, ids[0], { name: 'side', key: 'k' })
    const { head } = await appendTexts(store, side, 'aside')
    await store.setAgentLink(side, link)
    await store.deleteBranch(side)
    await rejects(store.getBranch(side), 'not_found')
    assert.deepEqual(
      (await collectPages(page => store.listBranches(conversation.id, page))).map(one => one.name),
      ['main'],
    )
    assert.equal((await pathOf(store, head)).length, 2)
    assert.equal((await store.getConversation(conversation.id)).messages, 4)
    assert.equal(await store.findByKey('k'), null)
    assert.equal(await store.findByAgentLink('copilot', 'theirs'), null)
    assert.equal((await store.setKey(branch, 'k')).key, 'k')
    const again = await store.createBranch(conversation.id, head, { name: 'side' })
    assert.deepEqual(
      [again.head, again.key, await collectPages(page => store.listAgentLinks(again, page))],
      [head, null, []],
    )
  }),
  it('refuses to delete the active branch or one that an open turn holds', async ({ store, clock }) => {
    const { conversation, branch, ids } = await startConversation(store)
    await rejects<InvalidError>(store.deleteBranch(branch), 'invalid')
    assert.deepEqual(await store.getBranch(branch), branch)
    const side = await store.createBranch(conversation.id, ids[0], { name: 'side' })
    const turn = { key: 't', step: 0, status: 'open', holder: holder(7) } as const
    await store.append(side, ids[0], [say('working')], { turn })
    const error = await rejects<BusyError>(store.deleteBranch(side), 'busy')
    assert.deepEqual([error.holder, error.leaseUntil], [holder(7), new Date(clock.now + 30_000)])
    await store.endTurn(conversation.id, 't', { status: 'complete', heldBy: holder(7) })
    await store.deleteBranch(side)
    assert.equal((await collectPages(page => store.listBranches(conversation.id, page))).length, 1)
  }),
  it('moves a branch to any message of its conversation, and to none (S3-2)', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const side = await store.createBranch(conversation.id, ids[0], { name: 'side' })
    const { head } = await appendTexts(store, side, 'aside')
    const steps: readonly (readonly [MessageId | null, MessageId | null])[] = [
      [ids[2], ids[0]],
      [ids[0], head],
      [head, null],
      [null, ids[1]],
    ]
    for (const [from, to] of steps) {
      const moved = await store.moveBranch(branch, from, to)
      assert.equal(moved.head, to)
      assert.deepEqual(await store.getBranch(branch), moved)
    }
    await appendTexts(store, branch, 'three again')
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three again'])
    assert.deepEqual(await said(store, side), ['one', 'aside'])
    assert.equal((await pathOf(store, ids[2])).length, 3)
  }),
  it('moves a branch only if its head is the expected one', async ({ store }) => {
    const { branch, ids } = await startConversation(store)
    for (const expected of [ids[1], null, noMessage]) {
      const error = await rejects<ConflictError>(store.moveBranch(branch, expected, ids[0]), 'conflict')
      assert.deepEqual([error.branch, error.expected, error.actual], ['main', expected, ids[2]])
    }
    const other = await startConversation(store)
    for (const to of [other.ids[0], noMessage]) {
      const error = await rejects<NotFoundError>(store.moveBranch(branch, ids[2], to), 'not_found')
      assert.equal(error.kind, 'message')
    }
    await rejects(store.moveBranch(branch, ids[2], badMessage), 'invalid')
    assert.deepEqual(await store.getBranch(branch), branch)
  }),
  it(
    'lets exactly one of many moves through two handles win (S3-77)',
    async ({ store, second }) => {
      const other = await second()
      const { branch, ids } = await startConversation(store)
      let head: MessageId = ids[2]
      for (let round = 0; round < 20; round++) {
        const to: MessageId = head === ids[2] ? ids[0] : ids[2]
        const stores = [store, other, store, other, store, other, store, other]
        const from: MessageId = head
        const tries = await Promise.allSettled(stores.map(one => one.moveBranch(branch, from, to)))
        assert.equal(tries.filter(one => one.status === 'fulfilled').length, 1)
        for (const one of tries) if (one.status === 'rejected') assert.equal(one.reason.code, 'conflict')
        assert.equal((await other.getBranch(branch)).head, to)
        head = to
      }
    },
    'second handle',
  ),
  it('activates the branch for callers that name none', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const side = await store.createBranch(conversation.id, ids[1], { name: 'side' })
    const active = async () =>
      (await collectPages(page => store.listBranches(conversation.id, page)))
        .filter(one => one.active)
        .map(one => one.name)
    assert.equal(conversation.activeBranch, 'main')
    await store.activateBranch(side)
    assert.equal((await store.getConversation(conversation.id)).activeBranch, 'side')
    assert.deepEqual(await active(), ['side'])
    assert.deepEqual((await store.listConversations()).items[0]?.branch, await store.getBranch(side))
    await store.deleteBranch(branch)
    await rejects(store.deleteBranch(side), 'invalid')
    assert.deepEqual(await active(), ['side'])
  }),
  it('changes no branch of a trashed conversation, and says so', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const side = await store.createBranch(conversation.id, ids[1], { name: 'side' })
    await store.trash(conversation.id)
    const calls = [
      store.createBranch(conversation.id, null, { name: 'new' }),
      store.renameBranch(side, 'x'),
      store.deleteBranch(side),
      store.moveBranch(branch, ids[2], null),
      store.activateBranch(side),
      store.setKey(side, 'k'),
      store.setAgentLink(side, link),
      store.reset(branch),
    ]
    for (const error of await Promise.all(calls.map(call => rejects<NotFoundError>(call, 'not_found')))) {
      assert.equal(error.trashed, true)
    }
    await store.restore(conversation.id)
    assert.deepEqual(await store.getBranch(side), side)
    assert.equal((await collectPages(page => store.listBranches(conversation.id, page))).length, 2)
  }),
]
