import { strict as assert } from 'node:assert'
import type { BranchRef } from '../../core/branch.ts'
import type { MessageId } from '../../core/ids.ts'
import { collectPages } from '../../core/pages.ts'
import type { Store } from '../../core/ports.ts'
import type { TailBudget } from '../../core/tail.ts'
import { appendTexts, casesOf, holder, noConversation, rejects, say, startConversation } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('branches with tails')

/** Compares a branch and its tail with what the other methods read. */
async function checkFound(store: Store, wanted: string | BranchRef, ref: BranchRef, budget: TailBudget) {
  const { conversationId } = ref
  const newest = await collectPages(page =>
    store.listSummaries(conversationId, { ...page, order: 'descending' }),
  )
  const branch = await store.getBranch(ref)
  const empty = { messages: [], turnStart: null, older: 0, olderTokens: 0 }
  assert.deepEqual(await store.findWithTail(wanted, budget, { summaries: 2 }), {
    conversation: await store.getConversation(conversationId),
    branch,
    tail: branch.head === null ? empty : await store.tail(branch.head, budget),
    summaries: newest.slice(0, 2),
  })
}

async function summarize(store: Store, { conversationId }: BranchRef, first: MessageId, last: MessageId) {
  const range = { first, last }
  await store.claimSummary(conversationId, range, holder())
  await store.putSummary(conversationId, { ...range, tokens: 1, text: `up to ${last}`, holder: holder() })
}

export const branchWithTailCases: readonly ContractCase[] = [
  it('finds a branch by its key and by its name, with the newest part of its path and its summaries', async ({
    store,
  }) => {
    const { conversation, branch, ids } = await startConversation(store, { key: 'talk', prompt: 'Be brief.' })
    const { head } = await appendTexts(store, branch, 'four', 'five', 'six')
    const side = await store.createBranch(conversation.id, ids[1], { name: 'side', key: 'aside' })
    await appendTexts(store, side, 'beside', 'answer')
    await appendTexts(store, branch, 'seven')
    const other = await startConversation(store, { key: 'other' })
    const none = await store.create({ key: 'none' })
    for (const last of [ids[0], ids[2], head]) await summarize(store, branch, ids[0], last)
    for (const budget of [{ messages: 1 }, { messages: 2 }, { tokens: 3 }, { tokens: 1_000, messages: 40 }]) {
      await checkFound(store, 'talk', branch, budget)
      await checkFound(store, 'aside', side, budget)
      await checkFound(store, branch, branch, budget)
      await checkFound(store, side, side, budget)
      await checkFound(store, 'other', other.branch, budget)
      await checkFound(store, 'none', none.branch, budget)
    }
  }),
  it('reads no summary unless it is asked to', async ({ store }) => {
    const { branch, ids } = await startConversation(store, { key: 'talk' })
    await summarize(store, branch, ids[0], ids[1])
    assert.deepEqual((await store.findWithTail('talk', { messages: 1 }))?.summaries, [])
  }),
  it('returns the newest part of a turn that exceeds the budget', async ({ store }) => {
    const { branch } = await store.create({ key: 'talk' })
    const turn = { key: 't', step: 0 }
    const words = [say('one'), say('two', 'assistant'), say('three', 'tool_result'), say('four', 'assistant')]
    await store.append(branch, null, words, { turn })
    for (const budget of [{ messages: 2 }, { tokens: 1 }]) {
      await checkFound(store, 'talk', branch, budget)
      await checkFound(store, branch, branch, budget)
    }
    const found = await store.findWithTail('talk', { messages: 2 })
    assert.deepEqual([found?.tail.messages.length, found?.tail.turnStart?.seq], [2, 0])
  }),
  it('reads previews of blobs', async ({ store }) => {
    const { branch } = await store.create({ key: 'talk' })
    const { head } = await store.append(branch, null, [say('long '.repeat(10_000))])
    const found = await store.findWithTail('talk', { messages: 1 }, { blobs: 'preview' })
    assert.deepEqual(found?.tail, await store.tail(head, { messages: 1 }, { blobs: 'preview' }))
    await checkFound(store, 'talk', branch, { messages: 1 })
  }),
  it('returns null for a key or a branch that does not exist', async ({ store }) => {
    const { branch } = await startConversation(store, { key: 'talk' })
    assert.equal(await store.findWithTail('Talk', { messages: 1 }), null)
    assert.equal(await store.findWithTail({ ...branch, name: 'other' }, { messages: 1 }), null)
    const elsewhere = { conversationId: noConversation, name: 'main' }
    assert.equal(await store.findWithTail(elsewhere, { messages: 1 }), null)
  }),
  it('does not find an expired or trashed conversation by its key, but by its branch', async ({
    store,
    clock,
  }) => {
    const expired = await startConversation(store, { key: 'expired', expiresAt: new Date(clock.now + 1_000) })
    const trashed = await startConversation(store, { key: 'trashed' })
    await store.trash(trashed.conversation.id)
    clock.now += 2_000
    for (const [key, { branch }] of [
      ['expired', expired],
      ['trashed', trashed],
    ] as const) {
      assert.equal(await store.findWithTail(key, { messages: 1 }), null)
      await checkFound(store, branch, branch, { messages: 2 })
    }
  }),
  it('refuses an invalid key, branch, budget or option', async ({ store }) => {
    await store.create({ key: 'talk' })
    for (const key of ['', 'a\0b', '\ud800', 'k'.repeat(513)])
      await rejects(store.findWithTail(key, { messages: 1 }), 'invalid')
    await rejects(store.findWithTail({ name: 'main' } as never, { messages: 1 }), 'invalid')
    for (const budget of [{}, { messages: -1 }, { tokens: 1.5 }, { token: 1 } as never])
      await rejects(store.findWithTail('talk', budget), 'invalid')
    for (const options of [{ summaries: -1 }, { summaries: '1' }, { blobs: 'some' }, { wholeTurns: true }])
      await rejects(store.findWithTail('talk', { messages: 1 }, options as never), 'invalid')
  }),
]
