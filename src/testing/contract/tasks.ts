import { strict as assert } from 'node:assert'
import type { BranchInConversation, Store } from '../../core/ports.ts'
import { appendTexts, casesOf, rejects, startConversation } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('tasks')
const day = 86_400_000

/** The conversation and the branch that a lookup found. */
const at = (place: BranchInConversation | null) => place && [place.conversation.id, place.branch.name]

export const taskCases: readonly ContractCase[] = [
  it('finds the conversation of a task, and of no other (S2-5, S2-62)', async ({ store }) => {
    const one = await startConversation(store, { task: 'bead-1' })
    const two = await startConversation(store, { task: 'bead-10' })
    const found = await store.findByTask('bead-1')
    assert.deepEqual(at(found), at(one))
    assert.deepEqual(found?.conversation, await store.getConversation(one.conversation.id))
    assert.deepEqual(found?.branch, await store.getBranch(one.branch))
    assert.deepEqual(at(await store.findByTask('bead-10')), at(two))
    for (const task of ['bead-', 'bead-2', 'BEAD-1', 'bead-_', '%', 'p']) {
      assert.equal(await store.findByTask(task), null, task)
    }
  }),
  it('finds the most recently active of several conversations of a task', async ({ store, clock }) => {
    const one = await startConversation(store, { task: 't' })
    clock.now += 1_000
    const two = await startConversation(store, { task: 't' })
    assert.deepEqual(at(await store.findByTask('t')), at(two))
    clock.now += 1_000
    await appendTexts(store, one, 'again')
    assert.deepEqual(at(await store.findByTask('t')), at(one))
  }),
  it('ignores expired and trashed conversations of a task (S2-24, S2-34)', async ({ store, clock }) => {
    const lasting = await startConversation(store, { task: 't' })
    clock.now += 1_000
    await startConversation(store, { task: 't', ttlMs: day })
    clock.now += 2 * day
    assert.deepEqual(at(await store.findByTask('t')), at(lasting))
    await store.trash(lasting.conversation.id)
    assert.equal(await store.findByTask('t'), null)
  }),
  it('finds a task at the active branch of its conversation', async ({ store }) => {
    const { conversation, ids } = await startConversation(store, { task: 't' })
    const side = await store.createBranch(conversation.id, ids[0], { name: 'side' })
    await store.activateBranch(side)
    const found = await store.findByTask('t')
    assert.deepEqual([found?.branch.name, found?.branch.head], ['side', ids[0]])
    assert.equal(found?.conversation.activeBranch, 'side')
  }),
  it('finds a task in its own project only (S2-62)', async ({ store, clock }) => {
    const one = await startConversation(store, { task: 'bead-1', project: 'one' })
    clock.now += 1_000
    const two = await startConversation(store, { task: 'bead-1', project: 'two' })
    clock.now += 1_000
    const bare = await startConversation(store, { task: 'bead-1' })
    assert.deepEqual(at(await store.findByTask('bead-1', 'one')), at(one))
    assert.deepEqual(at(await store.findByTask('bead-1', 'two')), at(two))
    assert.deepEqual(at(await store.findByTask('bead-1', null)), at(bare))
    assert.deepEqual(at(await store.findByTask('bead-1')), at(bare))
    for (const project of ['three', 'ONE', 'on_', '%']) {
      assert.equal(await store.findByTask('bead-1', project), null, project)
    }
    await store.trash(bare.conversation.id)
    assert.equal(await store.findByTask('bead-1'), null)
    await store.updateConversation(two.conversation.id, { project: 'one' })
    assert.deepEqual(at(await store.findByTask('bead-1', 'one')), at(two))
    assert.equal(await store.findByTask('bead-1', 'two'), null)
  }),
  it('creates the conversation of a task once, and finds it afterwards (S2-5, S2-62)', async ({ store }) => {
    const made = await store.findOrCreateByTask('bead-1', { project: 'one', title: 'first', ttlMs: day })
    const { task, project, title, ttlMs } = made.conversation
    assert.deepEqual([made.created, task, project, title, ttlMs], [true, 'bead-1', 'one', 'first', day])
    assert.deepEqual([made.branch.name, made.branch.head], ['main', null])
    await appendTexts(store, made, 'hello')
    const found = await store.findOrCreateByTask('bead-1', { project: 'one', title: 'second' })
    assert.deepEqual([found.created, ...at(found)!], [false, ...at(made)!])
    assert.deepEqual(found.conversation, await store.getConversation(made.conversation.id))
    assert.equal(found.conversation.title, 'first')
    const other = await store.findOrCreateByTask('bead-1', { project: 'two' })
    const bare = await store.findOrCreateByTask('bead-1')
    assert.deepEqual([other.created, bare.created, bare.conversation.project], [true, true, null])
    assert.equal(await store.countConversations({ task: 'bead-1' }), 3)
  }),
  it('creates a new conversation for a task whose last one has expired (S2-24)', async ({ store, clock }) => {
    const old = await store.findOrCreateByTask('t', { project: 'p', ttlMs: day })
    clock.now += 2 * day
    const made = await store.findOrCreateByTask('t', { project: 'p', ttlMs: day })
    assert.equal(made.created, true)
    assert.notEqual(made.conversation.id, old.conversation.id)
    await appendTexts(store, old, 'continued by its id')
    clock.now += 1
    await appendTexts(store, made, 'newer')
    assert.deepEqual(at(await store.findOrCreateByTask('t', { project: 'p' })), at(made))
  }),
  it('refuses invalid tasks and projects, and creates nothing', async ({ store }) => {
    for (const name of ['', 'a\0b', '\ud800', 'n'.repeat(513)]) {
      await rejects(store.findByTask(name), 'invalid')
      await rejects(store.findByTask('t', name), 'invalid')
      await rejects(store.findOrCreateByTask(name), 'invalid')
      await rejects(store.findOrCreateByTask('t', { project: name }), 'invalid')
    }
    assert.equal(await store.countConversations(), 0)
  }),
  it(
    'creates one conversation of a task for many calls through two handles (S2-62, S3-77)',
    async ({ store, second }) => {
      const stores: readonly Store[] = [store, await second()]
      for (let round = 0; round < 20; round++) {
        const calls = Array.from({ length: 8 }, (_, i) =>
          stores[i % 2]!.findOrCreateByTask(`race ${round}`, { project: i < 4 ? 'one' : 'two' }),
        )
        const found = await Promise.all(calls)
        for (const half of [found.slice(0, 4), found.slice(4)]) {
          assert.equal(half.filter(one => one.created).length, 1)
          assert.equal(new Set(half.map(one => one.conversation.id)).size, 1)
        }
      }
      assert.equal(await store.countConversations(), 40)
    },
    'second handle',
  ),
]
