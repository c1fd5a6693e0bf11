import { strict as assert } from 'node:assert'
import type { BranchRef } from '../../core/branch.ts'
import type { InvalidError, NotFoundError } from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import { collectPages } from '../../core/pages.ts'
import { pathOf } from '../../core/path.ts'
import type { SaveItem, Store } from '../../core/ports.ts'
import type { MovedBranch } from '../../core/removal.ts'
import {
  appendTexts,
  casesOf,
  grow,
  interleave,
  noMessage,
  rejects,
  said,
  say,
  startConversation,
  texts,
} from './build.ts'
import type { ContractCase } from './contract-case.ts'

/** The remaining messages of a conversation, oldest first. */
async function living(store: Store, conversationId: ConversationId) {
  return (await store.listMessages({ conversationId, order: 'ascending', limit: 1000 })).items
}

function ref({ conversationId, name }: BranchRef): BranchRef {
  return { conversationId, name }
}

function byName(moved: readonly MovedBranch[]): MovedBranch[] {
  return [...moved]
    .sort((a, b) => (a.branch.name < b.branch.name ? -1 : 1))
    .map(({ branch, from, to }) => ({ branch: ref(branch), from, to }))
}

async function assertGone(store: Store, ...ids: MessageId[]) {
  for (const id of ids) {
    const error = await rejects<NotFoundError>(store.getMessages([id]), 'not_found')
    assert.equal(error.kind, 'message')
    assert.equal(error.id, id)
    assert.equal(error.trashed, false)
  }
}

const it = casesOf('deleting')

export const deletingCases: readonly ContractCase[] = [
  it('deletes a leaf and moves the head to its parent (S3-36, S3-83)', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const [, two, three] = ids
    const result = await store.deleteMessages([three])
    assert.equal(result.deleted, 1)
    assert.equal(result.summaries, 0)
    assert.deepEqual(byName(result.moved), [{ branch: ref(branch), from: three, to: two }])
    assert.equal((await store.getBranch(branch)).head, two)
    assert.deepEqual(await said(store, branch), ['one', 'two'])
    await assertGone(store, three)
    await rejects(pathOf(store, three), 'not_found')
    assert.equal((await store.getConversation(conversation.id)).messages, 2)
  }),

  it('deletes a leaf without a branch and moves nothing (S3-83)', async ({ store }) => {
    const { id, ids, main, side } = await interleave(store)
    const [extra] = await store.save(id, [{ message: say('extra'), parent: ids.a1 }])
    const { remains, ...effects } = await store.deleteMessages([extra])
    assert.deepEqual(effects, { deleted: 1, moved: [], summaries: 0, titles: 0, branches: [], events: 0 })
    assert.equal((await store.getBranch(main)).head, ids.a3)
    assert.equal((await store.getBranch(side)).head, ids.b3)
  }),

  it('refuses to delete a message with children and deletes nothing (S3-49, S3-83)', async world => {
    const { store } = world
    const { id, ids, main } = await interleave(store)
    const before = await store.versionOf(id)
    const error = await rejects<InvalidError>(store.deleteMessages([ids.b3, ids.a2]), 'invalid')
    assert.equal(error.field, 'ids')
    assert.deepEqual(texts(await living(store, id)), ['root', 'a1', 'b1', 'a2', 'b2', 'a3', 'b3'])
    assert.equal((await store.getBranch(main)).head, ids.a3)
    assert.equal(await store.versionOf(id), before)
  }),

  it('deletes a message with children if they are in the list, in any order', async ({ store }) => {
    const { id, ids } = await interleave(store)
    assert.equal((await store.deleteMessages([ids.a2, ids.a3])).deleted, 2)
    assert.equal((await store.deleteMessages([ids.b3, ids.b2])).deleted, 2)
    assert.deepEqual(texts(await living(store, id)), ['root', 'a1', 'b1'])
  }),

  it('deletes a parent and its child when recursive (S3-40, S3-50, S3-83)', async ({ store }) => {
    const { branch, ids } = await startConversation(store)
    const [one, two, three] = ids
    const result = await store.deleteMessages([two], { recursive: true, reason: 'a slip' })
    assert.equal(result.deleted, 2)
    assert.deepEqual(byName(result.moved), [{ branch: ref(branch), from: three, to: one }])
    await assertGone(store, two, three)
    assert.deepEqual(await said(store, branch), ['one'])
  }),

  it('deletes exactly the subtree if branches interleave (S3-50, S3-83)', async ({ store }) => {
    const { id, ids, main, side } = await interleave(store)
    const result = await store.deleteMessages([ids.a1], { recursive: true })
    assert.equal(result.deleted, 3)
    assert.deepEqual(byName(result.moved), [{ branch: ref(main), from: ids.a3, to: ids.root }])
    await assertGone(store, ids.a1, ids.a2, ids.a3)
    const rest = await living(store, id)
    assert.deepEqual(texts(rest), ['root', 'b1', 'b2', 'b3'])
    assert.deepEqual(
      rest.map(message => message.seq),
      [0, 2, 4, 6],
    )
    assert.deepEqual(await said(store, side), ['root', 'b1', 'b2', 'b3'])
  }),

  it('deletes a whole tree with nested forks (S3-50, S3-83)', async ({ store }) => {
    const { conversation } = await store.create()
    const ids = await grow(store, conversation.id, {
      top: null,
      left: 'top',
      right: 'top',
      l1: 'left',
      r1: 'right',
      l2: 'left',
      r2: 'right',
      l1x: 'l1',
      other: null,
      l1y: 'l1',
    })
    assert.equal((await store.deleteMessages([ids.left], { recursive: true })).deleted, 5)
    assert.deepEqual(texts(await living(store, conversation.id)), ['top', 'right', 'r1', 'r2', 'other'])
    assert.equal((await store.deleteMessages([ids.top], { recursive: true })).deleted, 4)
    assert.deepEqual(texts(await living(store, conversation.id)), ['other'])
  }),

  it('counts each message once, however often the list reaches it', async ({ store }) => {
    const { id, ids } = await interleave(store)
    const wanted = [ids.a3, ids.a1, ids.a2, ids.a1, ids.b3, ids.b3]
    assert.equal((await store.deleteMessages(wanted, { recursive: true })).deleted, 4)
    assert.deepEqual(texts(await living(store, id)), ['root', 'b1', 'b2'])
  }),

  it('deletes from several conversations all or nothing (S3-48)', async ({ store }) => {
    const first = await startConversation(store)
    const second = await startConversation(store)
    await rejects(store.deleteMessages([first.ids[2], second.ids[0]]), 'invalid')
    assert.deepEqual(await said(store, first.branch), ['one', 'two', 'three'])
    assert.deepEqual(await said(store, second.branch), ['one', 'two', 'three'])
    const result = await store.deleteMessages([first.ids[2], second.ids[1]], { recursive: true })
    assert.equal(result.deleted, 3)
    assert.equal(result.moved.length, 2)
    assert.deepEqual(await said(store, first.branch), ['one', 'two'])
    assert.deepEqual(await said(store, second.branch), ['one'])
  }),

  it('ignores missing ids (S3-51)', async ({ store }) => {
    const { branch, ids } = await startConversation(store)
    const nothing = { deleted: 0, moved: [], summaries: 0, titles: 0, branches: [], events: 0, remains: [] }
    assert.deepEqual(await store.deleteMessages([noMessage]), nothing)
    assert.deepEqual(await store.deleteMessages([noMessage], { recursive: true }), nothing)
    assert.deepEqual(await store.deleteMessages([]), nothing)
    assert.equal((await store.deleteMessages([noMessage, ids[2]])).deleted, 1)
    assert.deepEqual(await store.deleteMessages([ids[2]]), nothing)
    assert.deepEqual(await said(store, branch), ['one', 'two'])
  }),

  it('refuses texts that are not message ids', async ({ store }) => {
    const { branch, ids } = await startConversation(store)
    await rejects(store.deleteMessages([ids[2], 'not an id' as MessageId]), 'invalid')
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three'])
  }),

  it('moves every head to its nearest remaining ancestor and lists each move', async ({ store }) => {
    const { id, ids, main, side } = await interleave(store)
    const middle = await store.createBranch(id, ids.a2, { name: 'middle' })
    const above = await store.createBranch(id, ids.a1, { name: 'above' })
    const result = await store.deleteMessages([ids.a2], { recursive: true })
    assert.deepEqual(byName(result.moved), [
      { branch: ref(main), from: ids.a3, to: ids.a1 },
      { branch: ref(middle), from: ids.a2, to: ids.a1 },
    ])
    for (const branch of [main, middle, above]) assert.equal((await store.getBranch(branch)).head, ids.a1)
    assert.equal((await store.getBranch(side)).head, ids.b3)
  }),

  it('can empty every branch, after which the conversation continues from a new root', async ({ store }) => {
    const { id, ids, main, side } = await interleave(store)
    const result = await store.deleteMessages([ids.root], { recursive: true })
    assert.equal(result.deleted, 7)
    assert.deepEqual(byName(result.moved), [
      { branch: ref(main), from: ids.a3, to: null },
      { branch: ref(side), from: ids.b3, to: null },
    ])
    assert.equal((await store.getBranch(side)).head, null)
    assert.equal((await store.getConversation(id)).messages, 0)
    assert.equal((await store.getConversation(id)).tokens, 0)
    assert.deepEqual(await collectPages(page => store.listStretches(id, page)), [])
    const again = await store.append(main, null, [say('again')])
    const [message] = await pathOf(store, again.head)
    assert.equal(message?.parentId, null)
    assert.equal(message?.depth, 0)
    assert.equal(message?.seq, 7)
  }),

  it('never reuses a seq (S1-12)', async ({ store }) => {
    const { branch, ids } = await startConversation(store)
    await store.deleteMessages([ids[1]], { recursive: true })
    const { head } = await appendTexts(store, branch, 'after')
    assert.deepEqual(
      (await pathOf(store, head)).map(message => [message.seq, message.depth]),
      [
        [0, 0],
        [3, 1],
      ],
    )
  }),

  it('allows an equal message again in the same place', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    await store.deleteMessages([ids[2]])
    const again = await store.append(branch, ids[1], [say('three')])
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three'])
    assert.equal((await store.getMessages([again.head]))[0]?.seq, 3)
    assert.equal((await store.getConversation(conversation.id)).messages, 3)
  }),

  it('refuses children, labels and resolution for a deleted message', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const gone = ids[2]
    await store.deleteMessages([gone])
    await rejects(store.save(conversation.id, [{ message: say('child'), parent: gone }]), 'not_found')
    await rejects(store.createBranch(conversation.id, gone, { name: 'side' }), 'not_found')
    await rejects(store.moveBranch(branch, ids[1], gone), 'not_found')
    await rejects(store.setLabel(gone, 'label'), 'not_found')
    await rejects(store.resolve(gone), 'not_found')
    await rejects(store.tail(gone, { messages: 1 }), 'not_found')
    await rejects(store.append(branch, gone, [say('child')]), 'conflict')
    assert.equal((await living(store, conversation.id)).length, 2)
  }),

  it('lists, walks and draws a tree with deleted messages', async ({ store }) => {
    const { id, ids, main, side } = await interleave(store)
    await store.deleteMessages([ids.a2], { recursive: true })
    const more = await appendTexts(store, main, 'a4', 'a5')
    assert.deepEqual(texts(await living(store, id)), ['root', 'a1', 'b1', 'b2', 'b3', 'a4', 'a5'])
    assert.deepEqual(await said(store, main), ['root', 'a1', 'a4', 'a5'])
    assert.deepEqual(await said(store, side), ['root', 'b1', 'b2', 'b3'])
    const tail = await store.tail(more.head, { messages: 2 })
    assert.equal(tail.messages.length + tail.older, 4)
    const runs = await collectPages(page => store.listStretches(id, page))
    assert.equal(
      runs.reduce((sum, run) => sum + run.messages, 0),
      7,
    )
    const ends = new Set(runs.map(run => run.last))
    assert.ok(ends.has(more.head) && ends.has(ids.b3), 'both branches end a run')
    for (const run of runs) assert.ok(run.parent === null || run.parentSeq! < run.firstSeq)
    assert.equal((await store.getConversation(id)).messages, 7)
  }),

  it('deletes a deep subtree of 3,000 messages at once (S3-50)', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const [root, keep] = await store.save(conversation.id, [
      { message: say('root'), parent: null },
      { message: say('keep'), parent: { item: 0 } },
    ])
    // Every tenth message has a second child, so that the subtree is not a plain chain.
    const items: SaveItem[] = []
    let above: SaveItem['parent'] = root
    while (items.length < 3000) {
      const item: number = items.push({ message: say(`m${items.length}`), parent: above }) - 1
      if (item % 10 === 0) items.push({ message: say(`side${item}`), parent: { item } })
      above = { item }
    }
    const ids = await store.save(conversation.id, items)
    await store.moveBranch(branch, null, ids.at(-1)!)
    const result = await store.deleteMessages([ids[0]], { recursive: true })
    assert.equal(result.deleted, 3000)
    assert.equal((await store.getBranch(branch)).head, root)
    assert.deepEqual(
      (await living(store, conversation.id)).map(message => message.id),
      [root, keep],
    )
    await assertGone(store, ids[0], ids[1500]!, ids.at(-1)!)
  }),

  it(
    'shows the deletion to another handle at once, which then gets a conflict for the old head',
    async ({ store, second }) => {
      const { branch, ids } = await startConversation(store)
      const other = await second()
      await store.deleteMessages([ids[2]])
      await assertGone(other, ids[2])
      await rejects(other.append(branch, ids[2], [say('late')]), 'conflict')
      await appendTexts(other, branch, 'four')
      assert.deepEqual(await said(store, branch), ['one', 'two', 'four'])
    },
    'second handle',
  ),
]
