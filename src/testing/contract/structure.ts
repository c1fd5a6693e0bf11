import { strict as assert } from 'node:assert'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { Message } from '../../core/message.ts'
import { collectPages } from '../../core/pages.ts'
import { pathOf } from '../../core/path.ts'
import type { Store } from '../../core/ports.ts'
import type { Stretch } from '../../core/runs.ts'
import { appendTexts, casesOf, grow, say, startConversation } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('structure')

/** The seqs and the parent of each stretch. */
const shape = (runs: readonly Stretch[]) => runs.map(run => [run.firstSeq, run.lastSeq, run.parentSeq])

async function allMessages(store: Store, conversationId: ConversationId): Promise<readonly Message[]> {
  const page = await store.listMessages({ conversationId, order: 'ascending', limit: 1_000 })
  assert.equal(page.next, null)
  return page.items
}

/** Stretches may be split in several ways. Together they must be the tree, with each message once and no
 *  fork inside. */
async function checkRuns(store: Store, id: ConversationId): Promise<readonly Stretch[]> {
  const messages = await allMessages(store, id)
  const byId = new Map(messages.map(message => [message.id, message]))
  const children = Map.groupBy(messages, message => message.parentId)
  const seen = new Set<MessageId>()
  const runs = await collectPages(page => store.listStretches(id, page))
  for (const run of runs) {
    const chain = (await pathOf(store, run.last)).slice(-run.messages)
    const [first, last] = [chain[0]!, chain.at(-1)!]
    assert.equal(chain.length, run.messages)
    assert.deepEqual(
      [run.first, run.last, run.parent, run.firstSeq, run.lastSeq],
      [first.id, last.id, first.parentId, first.seq, last.seq],
    )
    assert.equal(run.parentSeq, first.parentId === null ? null : byId.get(first.parentId)!.seq)
    assert.equal(
      run.tokens,
      chain.reduce((sum, message) => sum + message.tokens, 0),
    )
    assert.deepEqual([run.startedAt, run.endedAt], [first.createdAt, last.createdAt])
    for (const message of chain) {
      assert.ok(!seen.has(message.id), `seq ${message.seq} is in two runs`)
      seen.add(message.id)
      if (message !== last) assert.equal(children.get(message.id)?.length, 1, 'a fork lies inside a run')
    }
  }
  assert.equal(seen.size, messages.length)
  const order = runs.map(run => run.firstSeq)
  assert.deepEqual(
    order,
    order.toSorted((a, b) => a - b),
  )
  return runs
}

export const structureCases: readonly ContractCase[] = [
  it('returns a conversation without forks as one stretch', async ({ store, clock }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const began = clock.now
    clock.now += 1_000
    const { head } = await appendTexts(store, branch, 'four', 'five')
    const { tokens } = await store.getConversation(conversation.id)
    assert.deepEqual(await collectPages(page => store.listStretches(conversation.id, page)), [
      {
        first: ids[0],
        last: head,
        firstSeq: 0,
        lastSeq: 4,
        parent: null,
        parentSeq: null,
        messages: 5,
        tokens,
        startedAt: new Date(began),
        endedAt: new Date(clock.now),
      },
    ])
  }),
  it('splits a stretch at a fork (S3-31)', async ({ store }) => {
    const { conversation } = await store.create()
    await grow(store, conversation.id, { a: null, b: 'a', c: 'b', d: 'c', e: 'b', f: 'e' })
    assert.deepEqual(shape(await checkRuns(store, conversation.id)), [
      [0, 1, null],
      [2, 3, 1],
      [4, 5, 1],
    ])
  }),
  it('does not split a stretch at a branch head within it', async ({ store }) => {
    const { conversation, ids } = await startConversation(store)
    await store.createBranch(conversation.id, ids[1], { name: 'side' })
    assert.deepEqual(shape(await collectPages(page => store.listStretches(conversation.id, page))), [
      [0, 2, null],
    ])
  }),
  it('returns a stretch for each root (S3-31)', async ({ store }) => {
    const { conversation } = await store.create()
    await grow(store, conversation.id, { a: null, b: null, c: 'b', d: null })
    assert.deepEqual(shape(await checkRuns(store, conversation.id)), [
      [0, 0, null],
      [1, 2, null],
      [3, 3, null],
    ])
  }),
  it('splits a stretch when a fork is created in its middle', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    assert.equal((await checkRuns(store, conversation.id)).length, 1)
    await store.save(conversation.id, [{ message: say('beside'), parent: ids[0] }])
    assert.deepEqual(shape(await checkRuns(store, conversation.id)), [
      [0, 0, null],
      [1, 2, 0],
      [3, 3, 0],
    ])
    await appendTexts(store, branch, 'main continues', 'further')
    await checkRuns(store, conversation.id)
  }),
  it('matches the tree for interleaved branches', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    for (const name of ['left', 'right']) await store.createBranch(conversation.id, ids[1], { name })
    for (let i = 0; i < 6; i++) {
      await appendTexts(store, { conversationId: conversation.id, name: 'left' }, `left ${i}`)
      if (i % 2 === 0) await appendTexts(store, branch, `main ${i}`, 'answer')
      if (i % 3 === 0)
        await appendTexts(store, { conversationId: conversation.id, name: 'right' }, `right ${i}`)
      if (i === 4) await store.save(conversation.id, [{ message: say('a root'), parent: null }])
    }
    await checkRuns(store, conversation.id)
  }),
  it('matches the tree after deletions', async ({ store }) => {
    const { conversation } = await store.create()
    const ids = await grow(store, conversation.id, {
      a: null,
      b: 'a',
      c: 'b',
      d: 'c',
      e: 'b',
      f: 'e',
      g: null,
    })
    await store.deleteMessages([ids.e], { recursive: true })
    await checkRuns(store, conversation.id)
    await store.deleteMessages([ids.g])
    await store.save(conversation.id, [{ message: say('again'), parent: ids.d }])
    await checkRuns(store, conversation.id)
    assert.equal((await allMessages(store, conversation.id)).length, 5)
  }),
  it('shows the fork of a lost race, and a second root next to an answer', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    await store.append(branch, ids[0], [say('late')], { onConflict: 'fork' })
    await store.append(branch, null, [say('root')], { onConflict: 'fork' })
    assert.deepEqual(shape(await checkRuns(store, conversation.id)), [
      [0, 0, null],
      [1, 2, 0],
      [3, 3, 0],
      [4, 4, null],
    ])
  }),
]
