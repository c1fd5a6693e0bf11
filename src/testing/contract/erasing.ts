import { strict as assert } from 'node:assert'
import type { NotFoundError } from '../../core/errors.ts'
import { sha256Hex } from '../../core/hash.ts'
import type { MessageId } from '../../core/ids.ts'
import type { Message } from '../../core/message.ts'
import type { Store } from '../../core/ports.ts'
import {
  appendTexts,
  assertSummarised,
  casesOf,
  holder,
  interleave,
  noMessage,
  rejects,
  said,
  say,
  startConversation,
  summarise,
} from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('erasing')
const why = { by: 'anna', reason: 'a password' }

async function one(store: Store, id: MessageId): Promise<Message> {
  return (await store.getMessages([id]))[0]!
}

async function found(store: Store, query: string): Promise<MessageId[]> {
  return (await store.search(query)).items.map(hit => hit.message.id)
}

export const erasingCases: readonly ContractCase[] = [
  it('removes the content and keeps the place, the id and the order', async ({ store, clock }) => {
    const { conversation, branch } = await store.create()
    const { ids } = await store.append(branch, null, [
      say('before'),
      { ...say('the secret is swordfish', 'assistant'), metadata: { note: 'swordfish' }, label: 'kept' },
      say('after'),
    ])
    const before = await one(store, ids[1]!)
    clock.now += 5_000
    assert.equal((await store.eraseMessages([ids[1]!], why)).erased, 1)
    const after = await one(store, ids[1]!)
    assert.deepEqual(after.content, [])
    assert.equal(after.metadata, null)
    assert.deepEqual(after.blobs, [])
    assert.deepEqual(after.erased, { erasedAt: new Date(clock.now), ...why })
    for (const field of ['id', 'conversationId', 'parentId', 'seq', 'depth', 'role', 'label'] as const) {
      assert.equal(after[field], before[field], field)
    }
    assert.deepEqual(after.createdAt, before.createdAt)
    assert.equal(before.erased, null)
    assert.equal((await store.getConversation(conversation.id)).messages, 3)
  }),

  it('keeps paths, tails and lists complete, with an empty message', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    await store.eraseMessages([ids[1]], why)
    assert.deepEqual(await said(store, branch), ['one', '', 'three'])
    const tail = await store.tail(ids[2], { messages: 3 })
    assert.deepEqual(
      tail.messages.map(message => message.erased?.by ?? null),
      [null, 'anna', null],
    )
    const { items } = await store.listMessages({ conversationId: conversation.id, order: 'ascending' })
    assert.deepEqual(
      items.map(message => [message.id, message.content.length]),
      [
        [ids[0], 1],
        [ids[1], 0],
        [ids[2], 1],
      ],
    )
  }),

  it('appends to an erased head', async ({ store }) => {
    const { branch, ids } = await startConversation(store)
    await store.eraseMessages([ids[2]], why)
    const { head } = await store.append(branch, ids[2], [say('four')])
    assert.equal((await one(store, head)).parentId, ids[2])
    assert.deepEqual(await said(store, branch), ['one', 'two', '', 'four'])
  }),

  it('counts a message once and keeps the first erasure', async ({ store, clock }) => {
    const { ids } = await startConversation(store)
    assert.equal((await store.eraseMessages([ids[1], ids[1]], why)).erased, 1)
    const first = await one(store, ids[1])
    clock.now += 60_000
    assert.equal((await store.eraseMessages([ids[1], ids[2]], { by: 'bert', reason: 'again' })).erased, 1)
    assert.deepEqual((await one(store, ids[1])).erased, first.erased)
    assert.equal((await one(store, ids[2])).erased?.by, 'bert')
  }),

  it('ignores missing ids and refuses texts that are not ids', async ({ store }) => {
    const { branch, ids } = await startConversation(store)
    assert.equal((await store.eraseMessages([noMessage], why)).erased, 0)
    assert.equal((await store.eraseMessages([], why)).erased, 0)
    await rejects(store.eraseMessages([ids[0], 'nonsense' as MessageId], why), 'invalid')
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three'])
    assert.equal((await store.eraseMessages([noMessage, ids[0]], why)).erased, 1)
    await store.deleteMessages([ids[2]])
    assert.equal((await store.eraseMessages([ids[2]], why)).erased, 0)
  }),

  it('erases in several conversations at once and increments their versions', async ({ store }) => {
    const first = await startConversation(store)
    const second = await startConversation(store)
    const third = await startConversation(store)
    const versions = () =>
      Promise.all([first, second, third].map(place => store.versionOf(place.conversation.id)))
    const before = await versions()
    assert.equal((await store.eraseMessages([first.ids[0], second.ids[1]], why)).erased, 2)
    assert.deepEqual(await said(store, first.branch), ['', 'two', 'three'])
    assert.deepEqual(await said(store, second.branch), ['one', '', 'three'])
    const after = await versions()
    assert.ok(after[0]! > before[0]! && after[1]! > before[1]!)
    assert.equal(after[2], before[2])
  }),

  it('removes the message from search, whether it was indexed or not', async ({ store }) => {
    const { branch } = await store.create()
    const early = await appendTexts(store, branch, 'swordfish one', 'swordfish two')
    await store.indexSearch()
    assert.equal((await found(store, 'swordfish')).length, 2)
    assert.deepEqual(await found(store, '"swordfish two"'), [early.ids[1]])
    await store.eraseMessages([early.ids[0]], why)
    assert.deepEqual(await found(store, 'swordfish'), [early.ids[1]])
    const late = await appendTexts(store, branch, 'swordfish three')
    await store.eraseMessages([late.ids[0]], why)
    assert.deepEqual(await found(store, 'swordfish'), [early.ids[1]])
    await store.rebuildSearch()
    assert.deepEqual(await found(store, 'swordfish'), [early.ids[1]])
    assert.equal(await store.indexSearch(), 3)
    assert.deepEqual(await found(store, 'swordfish'), [early.ids[1]])
  }),

  it('clears a title that was taken from the message', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const { ids } = await appendTexts(store, branch, 'my key is 1234', 'noted', 'more')
    assert.equal((await store.getConversation(conversation.id)).title, 'my key is 1234')
    await store.eraseMessages([ids[2]!], why)
    assert.equal((await store.getConversation(conversation.id)).title, 'my key is 1234')
    await store.eraseMessages([ids[0]], why)
    assert.equal((await store.getConversation(conversation.id)).title, null)
  }),

  it('keeps a title that was given', async ({ store }) => {
    const given = await startConversation(store, { title: 'given' })
    await store.eraseMessages([given.ids[0]], why)
    assert.equal((await store.getConversation(given.conversation.id)).title, 'given')
    const changed = await startConversation(store)
    await store.updateConversation(changed.conversation.id, { title: 'changed' })
    await store.eraseMessages([changed.ids[0]], why)
    assert.equal((await store.getConversation(changed.conversation.id)).title, 'changed')
  }),

  it('removes a blob with the last message that refers to it', async ({ store }) => {
    const { branch } = await store.create()
    const alone = 'alone '.repeat(4_000)
    const shared = 'shared '.repeat(4_000)
    const { ids } = await store.append(branch, null, [say(alone), say(shared), say(shared, 'assistant')])
    assert.equal((await store.readBlob(sha256Hex(alone))).length, alone.length)
    assert.equal((await store.eraseMessages([ids[0], ids[1]!], why)).erased, 2)
    const error = await rejects<NotFoundError>(store.readBlob(sha256Hex(alone)), 'not_found')
    assert.equal(error.kind, 'blob')
    assert.deepEqual(await said(store, branch), ['', '', shared])
  }),

  it('keeps the usage totals', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const turn = { key: 'turn', step: 0, usage: { input: 20, output: 5, cost: 0.5 } }
    const { ids } = await store.append(branch, null, [say('question')], { turn })
    await store.eraseMessages([ids[0]], why)
    const after = await store.getConversation(conversation.id)
    assert.deepEqual([after.messages, after.tokensUsed, after.cost], [1, 25, 0.5])
  }),

  it('replays a retry of an erased step, because the hash of the body remains', async ({ store }) => {
    const { branch } = await store.create()
    const turn = { key: 'turn', step: 0 }
    const first = await store.append(branch, null, [say('question')], { turn })
    await store.eraseMessages([first.ids[0]], why)
    const again = await store.append(branch, null, [say('question')], { turn })
    assert.equal(again.outcome, 'replayed')
    assert.deepEqual(again.ids, first.ids)
    assert.deepEqual((await one(store, first.head)).content, [])
    await rejects(store.append(branch, null, [say('another')], { turn }), 'key_reused')
  }),

  it(
    'shows the erasure to another handle at once',
    async ({ store, second }) => {
      const { branch, ids } = await startConversation(store)
      const other = await second()
      assert.deepEqual(await found(other, 'two'), [ids[1]])
      await store.eraseMessages([ids[1]], why)
      assert.deepEqual(await said(other, branch), ['one', '', 'three'])
      assert.deepEqual(await found(other, 'two'), [])
      assert.equal((await other.eraseMessages([ids[1]], why)).erased, 0)
    },
    'second handle',
  ),

  it('lets an open turn continue', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const turn = { key: 'running', status: 'open', holder: holder() } as const
    const opened = await store.append(branch, ids[2], [say('four')], { turn: { ...turn, step: 0 } })
    await store.eraseMessages([ids[0]], why)
    await store.append(branch, opened.head, [say('five', 'assistant')], { turn: { ...turn, step: 1 } })
    await store.endTurn(conversation.id, 'running', { status: 'complete', heldBy: holder() })
    assert.deepEqual(await said(store, branch), ['', 'two', 'three', 'four', 'five'])
  }),

  it('removes the summaries that cover the message, and no others', async ({ store }) => {
    const { id, ids } = await interleave(store)
    await summarise(store, id, [ids.root, ids.a2], [ids.a1, ids.a3], [ids.root, ids.b3])
    await store.eraseMessages([ids.b2], why)
    await assertSummarised(store, id, [ids.root, ids.a2], [ids.a1, ids.a3])
    await store.eraseMessages([ids.root], why)
    await assertSummarised(store, id, [ids.a1, ids.a3])
  }),
]
