import { strict as assert } from 'node:assert'
import type { KeyReusedError } from '../../core/errors.ts'
import type { NewMessage, NonEmpty } from '../../core/message.ts'
import { collectPages } from '../../core/pages.ts'
import { appendTexts, casesOf, holder, rejects, said, say, startConversation } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('replay')
const step = (n: number, key = 't1') => ({ turn: { key, step: n } })
const open = (n: number, key = 't1', pid = 1) =>
  ({ turn: { key, step: n, status: 'open', holder: holder(pid) } }) as const

export const replayCases: readonly ContractCase[] = [
  it('returns the stored result for the same turn key, step and messages, and writes nothing (P4)', async ({
    store,
    clock,
  }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const words = [say('question'), say('answer', 'assistant')] as const
    const first = await store.append(branch, ids[2], words, step(0))
    const before = await store.getConversation(conversation.id)
    clock.now += 60_000
    const again = await store.append(branch, ids[2], words, step(0))
    assert.deepEqual(again, { ...first, outcome: 'replayed' })
    assert.deepEqual(await store.getConversation(conversation.id), before)
    assert.equal((await collectPages(page => store.listTurns(conversation.id, page))).length, 1)
  }),
  it('replays after the head has moved, and with any expected head (P4)', async ({ store }) => {
    const { branch, ids } = await startConversation(store)
    const first = await store.append(branch, ids[2], [say('question')], step(0))
    const { head } = await appendTexts(store, branch, 'later')
    for (const expected of [ids[2], first.head, head, ids[0], null]) {
      const again = await store.append(branch, expected, [say('question')], step(0))
      assert.deepEqual(again, { ...first, outcome: 'replayed' })
    }
    assert.equal((await store.getBranch(branch)).head, head)
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three', 'question', 'later'])
  }),
  it('compares roles and bodies only, so time, tokens, label, status and usage may differ in a retry', async ({
    store,
    clock,
  }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const usage = { input: 10, output: 5, cost: 0.5 }
    const first = await store.append(branch, ids[2], [{ ...say('said', 'tool'), tokens: 3 }], {
      turn: { key: 't1', step: 0, usage },
    })
    clock.now += 1_000
    const retry: NewMessage = {
      ...say('said', 'tool_result'),
      tokens: 99,
      label: 'again',
      createdAt: new Date(clock.now),
    }
    const again = await store.append(branch, ids[2], [retry], {
      turn: { key: 't1', step: 0, usage, status: 'failed', model: 'other' },
    })
    assert.equal(again.outcome, 'replayed')
    const [message] = await store.getMessages(first.ids)
    assert.deepEqual([message?.tokens, message?.label], [3, null])
    const [turn] = await collectPages(page => store.listTurns(conversation.id, page))
    assert.deepEqual([turn?.status, turn?.model], ['complete', null])
    const { tokensUsed, cost } = await store.getConversation(conversation.id)
    assert.deepEqual([tokensUsed, cost], [15, 0.5])
  }),
  it('refuses the same turn key and step with other content, roles, metadata or number of messages (P4)', async ({
    store,
  }) => {
    const { conversation, branch, ids } = await startConversation(store)
    await store.append(branch, ids[2], [say('question'), say('answer', 'assistant')], step(0))
    const version = await store.versionOf(conversation.id)
    const others: NonEmpty<NewMessage>[] = [
      [say('question'), say('another answer', 'assistant')],
      [say('question'), say('answer')],
      [say('question')],
      [say('question'), say('answer', 'assistant'), say('more')],
      [say('answer', 'assistant'), say('question')],
      [say('question'), { ...say('answer', 'assistant'), metadata: { n: 1 } }],
      [say('question'), { role: 'assistant', content: [{ type: 'text', text: 'answer' }] }],
    ]
    for (const other of others) {
      const { head } = await store.getBranch(branch)
      const error = await rejects<KeyReusedError>(store.append(branch, head, other, step(0)), 'key_reused')
      assert.equal(error.key, 't1')
    }
    assert.equal(await store.versionOf(conversation.id), version)
    assert.equal((await store.getConversation(conversation.id)).messages, 5)
  }),
  it('accepts gaps between steps, replays each step, and refuses a lower step that was never stored', async ({
    store,
  }) => {
    const { branch, ids } = await startConversation(store)
    const first = await store.append(branch, ids[2], [say('a')], open(2))
    const second = await store.append(branch, first.head, [say('b', 'assistant')], open(7))
    const third = await store.append(branch, second.head, [say('c', 'assistant')], open(8))
    for (const n of [0, 1, 3, 6]) {
      await rejects(store.append(branch, third.head, [say('never stored')], open(n)), 'key_reused')
    }
    assert.equal((await store.append(branch, ids[2], [say('a')], open(2))).head, first.head)
    const again = await store.append(branch, first.head, [say('b', 'assistant')], open(7))
    assert.deepEqual(again, { ...second, outcome: 'replayed' })
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three', 'a', 'b', 'c'])
  }),
  it('refuses a new step of an ended turn and still replays the old ones', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const first = await store.append(branch, ids[2], [say('a')], step(0))
    const version = await store.versionOf(conversation.id)
    await rejects(store.append(branch, first.head, [say('b')], step(1)), 'expired')
    await rejects(store.append(branch, first.head, [say('b')], open(1)), 'expired')
    assert.equal((await store.append(branch, ids[2], [say('a')], step(0))).outcome, 'replayed')
    assert.equal(await store.versionOf(conversation.id), version)
  }),
  it('replays a step of a turn that another process has ended since', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const first = await store.append(branch, ids[2], [say('a')], open(0))
    await store.endTurn(conversation.id, 't1', { status: 'interrupted', heldBy: holder(1) })
    const again = await store.append(branch, ids[2], [say('a')], open(0))
    assert.deepEqual(again, { ...first, outcome: 'replayed' })
    const [turn] = await collectPages(page => store.listTurns(conversation.id, page))
    assert.equal(turn?.status, 'interrupted')
  }),
  it('does not renew the lease on a replay', async ({ store, clock }) => {
    const { conversation, branch, ids } = await startConversation(store)
    await store.append(branch, ids[2], [say('a')], open(0))
    const until = clock.now + 30_000
    clock.now += 20_000
    assert.equal((await store.append(branch, ids[2], [say('a')], open(0))).outcome, 'replayed')
    const [turn] = await collectPages(page => store.listTurns(conversation.id, page))
    assert.equal(turn?.leaseUntil?.getTime(), until)
  }),
  it('checks the turn before the holder and the holder before the head', async ({ store }) => {
    const { branch, ids } = await startConversation(store)
    const done = await store.append(branch, ids[2], [say('done')], step(0, 'done'))
    const { head } = await store.append(branch, done.head, [say('held')], open(0, 'held'))
    // The branch is held and every expected head below is stale, so the first failing check decides.
    const stale = ids[0]
    assert.equal((await store.append(branch, stale, [say('done')], step(0, 'done'))).outcome, 'replayed')
    await rejects(store.append(branch, stale, [say('other')], step(0, 'done')), 'key_reused')
    await rejects(store.append(branch, stale, [say('more')], step(1, 'done')), 'expired')
    await rejects(store.append(branch, stale, [say('new')], step(0, 'new')), 'busy')
    await rejects(store.append(branch, stale, [say('new')]), 'busy')
    await rejects(store.append(branch, stale, [say('mine')], open(1, 'held')), 'conflict')
    await rejects(store.append(branch, stale, [say('not mine')], open(1, 'held', 2)), 'expired')
    assert.equal((await store.getBranch(branch)).head, head)
  }),
  it('returns the branch that was written, whichever branch the retry names', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const side = await store.createBranch(conversation.id, ids[2], { name: 'side' })
    const first = await store.append(branch, ids[2], [say('question')], step(0))
    const again = await store.append(side, ids[2], [say('question')], step(0))
    assert.deepEqual(again, { ...first, outcome: 'replayed' })
    assert.equal((await store.getBranch(side)).head, ids[2])
  }),
  it('keeps the turn keys of two conversations apart (S2-62)', async ({ store }) => {
    const a = await startConversation(store)
    const b = await startConversation(store)
    await store.append(a.branch, a.ids[2], [say('in a')], step(0))
    const made = await store.append(b.branch, b.ids[2], [say('in b')], step(0))
    assert.equal(made.outcome, 'appended')
    assert.deepEqual(await said(store, b.branch), ['one', 'two', 'three', 'in b'])
  }),
  it('stores equal messages in two turns, and again without a turn (S2-65)', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const words = 'Continue investigation'
    const a = await store.append(branch, null, [say(words)], step(0, 'dispatch 2'))
    const b = await store.append(branch, a.head, [say(words)], step(0, 'dispatch 3'))
    const c = await store.append(branch, b.head, [say(words)])
    assert.deepEqual([a.outcome, b.outcome, c.outcome], ['appended', 'appended', 'appended'])
    assert.deepEqual(await said(store, branch), [words, words, words])
    assert.equal((await store.getConversation(conversation.id)).messages, 3)
  }),
]
