import { strict as assert } from 'node:assert'
import type { BusyError } from '../../core/errors.ts'
import { collectPages } from '../../core/pages.ts'
import { pathOf } from '../../core/path.ts'
import type { Store } from '../../core/ports.ts'
import type { TurnEnd, TurnStep } from '../../core/turn.ts'
import { appendTexts, casesOf, holder, rejects, say, startConversation, texts, writers } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('reopening turns')

const open = (step = 0, pid = 1): TurnStep => ({ key: 't1', step, status: 'open', holder: holder(pid) })

/** A conversation whose last turn `t1` has a question (seq 3) and a call (seq 4), and ended with this
 *  status. */
async function left(store: Store, status: TurnEnd['status']) {
  const { conversation, branch, ids } = await startConversation(store)
  const { head } = await store.append(branch, ids[2], [say('question')], { turn: open() })
  const call = await store.append(branch, head, [say('a call', 'assistant')], { turn: open(1) })
  await store.endTurn(conversation.id, 't1', { status, heldBy: holder(1) })
  return { id: conversation.id, conversation, branch, question: head, head: call.head }
}

export const reopenCases: readonly ContractCase[] = [
  it('reopens an interrupted or failed turn at its last step (R27)', async world => {
    const { store, clock } = world
    for (const status of ['interrupted', 'failed'] as const) {
      const { id, branch, head } = await left(store, status)
      const version = await store.versionOf(id)
      const began = clock.now
      clock.now += 60_000
      const turn = await store.reopenTurn(branch, holder(2))
      assert.deepEqual(
        [turn?.key, turn?.status, turn?.holder, turn?.lastStep, turn?.endedAt, turn?.leaseUntil?.getTime()],
        ['t1', 'open', holder(2), 1, null, clock.now + 30_000],
      )
      assert.equal(turn?.startedAt.getTime(), began)
      assert.deepEqual(await collectPages(page => store.listTurns(id, { status: 'open', ...page })), [turn])
      assert.ok((await store.versionOf(id)) > version)
      const result = await store.append(branch, head, [say('a result', 'tool')], { turn: open(2, 2) })
      const done: TurnStep = { key: 't1', step: 3, status: 'complete', holder: holder(2) }
      const answer = await store.append(branch, result.head, [say('an answer', 'assistant')], { turn: done })
      const [ended] = await collectPages(page => store.listTurns(id, page))
      assert.deepEqual([ended?.status, ended?.first, ended?.last, ended?.lastStep], ['complete', 3, 6, 3])
      const path = await pathOf(store, answer.head)
      assert.deepEqual(texts(path), ['one', 'two', 'three', 'question', 'a call', 'a result', 'an answer'])
      assert.deepEqual(
        path.slice(3).map(message => message.turn),
        [3, 3, 3, 3],
      )
    }
  }),

  it('keeps the earlier part of an answer and accepts new pieces', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    await store.append(branch, ids[2], [say('question')], { turn: open() })
    await store.putDraft(conversation.id, 't1', holder(1), [{ n: 0, type: 'text', text: 'half' }])
    await store.endTurn(conversation.id, 't1', { status: 'interrupted', heldBy: holder(1) })
    assert.equal((await store.reopenTurn(branch, holder(2)))?.lastStep, 0)
    await store.putDraft(conversation.id, 't1', holder(2), [{ n: 0, type: 'text', text: 'the rest' }])
    await store.endTurn(conversation.id, 't1', { status: 'complete', heldBy: holder(2) })
    const { head } = await store.getBranch(branch)
    assert.deepEqual(texts(await pathOf(store, head!)).slice(3), ['question', 'half', 'the rest'])
  }),

  it('returns null if the last turn is complete, or if there is none', async ({ store }) => {
    const empty = await store.create()
    assert.equal(await store.reopenTurn(empty.branch, holder(2)), null)
    const plain = await startConversation(store)
    assert.equal(await store.reopenTurn(plain.branch, holder(2)), null)
    const { id, branch } = await left(store, 'complete')
    const version = await store.versionOf(id)
    assert.equal(await store.reopenTurn(branch, holder(2)), null)
    assert.equal(await store.versionOf(id), version)
  }),

  it('returns null if the branch has continued or was moved', async ({ store }) => {
    const { id, branch, head, question } = await left(store, 'interrupted')
    const side = await store.createBranch(id, head, { name: 'side' })
    assert.equal(await store.reopenTurn(side, holder(2)), null)
    const before = await store.createBranch(id, question, { name: 'before' })
    assert.equal(await store.reopenTurn(before, holder(2)), null)
    await appendTexts(store, branch, 'never mind')
    assert.equal(await store.reopenTurn(branch, holder(2)), null)
    assert.deepEqual(
      (await collectPages(page => store.listTurns(id, page))).map(turn => turn.status),
      ['interrupted'],
    )
  }),

  it('refuses while another process holds the branch, and names the holder', async ({ store }) => {
    const { branch } = await left(store, 'interrupted')
    await store.reopenTurn(branch, holder(2))
    for (const pid of [1, 2, 3]) {
      const error = await rejects<BusyError>(store.reopenTurn(branch, holder(pid)), 'busy')
      assert.deepEqual(error.holder, holder(2))
    }
  }),

  it('tells the previous holder that it has lost the turn (R8)', async ({ store }) => {
    const { id, branch, head } = await left(store, 'interrupted')
    await store.reopenTurn(branch, holder(2))
    await rejects(store.append(branch, head, [say('late')], { turn: open(2, 1) }), 'expired')
    await rejects(store.putDraft(id, 't1', holder(1), [{ n: 0, type: 'text', text: 'late' }]), 'expired')
    await rejects(store.renewTurn(id, 't1', holder(1)), 'expired')
    await rejects(store.endTurn(id, 't1', { status: 'complete', heldBy: holder(1) }), 'expired')
  }),

  it('replays the steps that were stored before', async ({ store }) => {
    const { branch, question, head } = await left(store, 'interrupted')
    await store.reopenTurn(branch, holder(2))
    const again = await store.append(branch, question, [say('a call', 'assistant')], { turn: open(1, 2) })
    assert.deepEqual([again.outcome, again.head], ['replayed', head])
    await rejects(store.append(branch, question, [say('other')], { turn: open(1, 2) }), 'key_reused')
  }),

  it('refuses a trashed conversation, a missing branch and an invalid holder', async ({ store }) => {
    const { id, branch } = await left(store, 'interrupted')
    await rejects(store.reopenTurn({ conversationId: id, name: 'nowhere' }, holder(2)), 'not_found')
    await rejects(store.reopenTurn(branch, { ...holder(2), host: '' }), 'invalid')
    await store.trash(id)
    await rejects(store.reopenTurn(branch, holder(2)), 'not_found')
  }),

  it(
    'gives the turn to exactly one of many',
    async world => {
      const { branch } = await left(world.store, 'interrupted')
      const all = await writers(world)
      const results = await Promise.allSettled(
        all.map((store, i) => store.reopenTurn(branch, holder(i + 10))),
      )
      const won = results.filter(result => result.status === 'fulfilled')
      assert.deepEqual([won.length, won[0]?.value?.status], [1, 'open'])
      for (const result of results) {
        if (result.status === 'rejected') assert.equal(result.reason.code, 'busy')
      }
    },
    'second handle',
  ),
]
