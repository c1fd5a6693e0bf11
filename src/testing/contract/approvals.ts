import { strict as assert } from 'node:assert'
import type { Store } from '../../core/ports.ts'
import type { TurnEnd } from '../../core/turn.ts'
import { casesOf, holder, rejects, say, startConversation, writers } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('approvals')

/** A conversation whose last turn `t1` ended with this status, and waits for the approval `a1`. */
async function waiting(store: Store, status: TurnEnd['status'] = 'interrupted') {
  const { conversation, branch, ids } = await startConversation(store)
  const turn = { key: 't1', status: 'open', holder: holder(1) } as const
  const asked = await store.append(branch, ids[2], [say('delete it')], { turn: { ...turn, step: 0 } })
  const call = await store.append(branch, asked.head, [say('I call: rm /tmp/x', 'assistant')], {
    turn: { ...turn, step: 1 },
  })
  const { id } = conversation
  await store.addEvents(id, [
    {
      type: 'approval_requested',
      data: {
        ...{ approval: 'a1', call: 'c1', message: call.head, branch: branch.name, turn: 't1' },
        ...{ name: 'rm', input: { path: '/tmp/x' }, kind: 'delete', title: 'rm /tmp/x' },
        ...{ preview: null, reason: null, scope: 'rm' },
      },
    },
  ])
  await store.endTurn(id, 't1', { status, heldBy: holder(1) })
  return { id, branch, head: call.head }
}

export const approvalCases: readonly ContractCase[] = [
  it('lists a request until it is answered, in its conversation and in all of them', async ({
    store,
    clock,
  }) => {
    const { id, head } = await waiting(store)
    await waiting(store)
    const [found, ...others] = await store.listApprovals({ conversationId: id })
    assert.deepEqual(others, [])
    assert.deepEqual(found, {
      ...{ id: 'a1', conversationId: id, messageId: head, callId: 'c1', turn: 't1', name: 'rm' },
      ...{ input: { path: '/tmp/x' }, kind: 'delete', title: 'rm /tmp/x', preview: null, reason: null },
      ...{ scope: 'rm', askedAt: new Date(clock.now), status: 'pending', answer: null },
      ...{ answeredBy: null, comment: null, answeredAt: null },
    })
    assert.equal((await store.listApprovals()).length, 2)
    clock.now += 86_400_000
    const answered = await store.answerApproval(id, 'a1', { answer: 'deny', by: 'ada', comment: 'keep it' })
    assert.deepEqual(
      [answered.status, answered.answer, answered.answeredBy, answered.comment, answered.answeredAt],
      ['answered', 'deny', 'ada', 'keep it', new Date(clock.now)],
    )
    assert.deepEqual(await store.getApproval(id, 'a1'), answered)
    assert.deepEqual(await store.listApprovals({ conversationId: id }), [])
    assert.deepEqual(await store.listApprovals({ conversationId: id, status: 'answered' }), [answered])
    assert.equal((await store.listApprovals()).length, 1)
  }),

  it('refuses a second answer and an unknown request', async ({ store }) => {
    const { id } = await waiting(store)
    const version = await store.versionOf(id)
    await store.answerApproval(id, 'a1', { answer: 'allow' })
    assert.ok((await store.versionOf(id)) > version)
    await rejects(store.answerApproval(id, 'a1', { answer: 'allow' }), 'expired')
    await rejects(store.answerApproval(id, 'a1', { answer: 'deny' }), 'expired')
    assert.equal((await store.getApproval(id, 'a1')).answer, 'allow')
    await rejects(store.answerApproval(id, 'a2', { answer: 'allow' }), 'not_found')
    await rejects(store.getApproval(id, 'a2'), 'not_found')
    await rejects(store.answerApproval(id, 'a1', { answer: 'yes' as never }), 'invalid')
    await rejects(store.listApprovals({ status: 'open' as never }), 'invalid')
  }),

  it('withdraws a request when its branch continues without it, or its turn ends', async ({ store }) => {
    const moved = await waiting(store)
    await store.append(moved.branch, moved.head, [say('never mind')])
    const done = await waiting(store, 'complete')
    for (const { id } of [moved, done]) {
      assert.equal((await store.getApproval(id, 'a1')).status, 'withdrawn')
      await rejects(store.answerApproval(id, 'a1', { answer: 'allow' }), 'expired')
    }
    assert.deepEqual(await store.listApprovals(), [])
  }),

  it('does not list requests of conversations in the trash, and forgets those of erased messages', async ({
    store,
  }) => {
    const trashed = await waiting(store)
    await store.trash(trashed.id)
    await rejects(store.answerApproval(trashed.id, 'a1', { answer: 'allow' }), 'not_found')
    const erased = await waiting(store)
    await store.addEvents(erased.id, [{ type: 'approval_requested', data: { approval: 'incomplete' } }])
    assert.equal((await store.listApprovals()).length, 1)
    await store.eraseMessages([erased.head], { by: 'ada', reason: 'a test' })
    assert.deepEqual(await store.listApprovals(), [])
    assert.ok(!JSON.stringify(await store.listEvents(erased.id)).includes('/tmp/x'))
  }),

  it(
    'gives the answer to one of many callers',
    async world => {
      const all = await writers(world)
      for (let round = 0; round < 20; round++) {
        const { id } = await waiting(world.store)
        const results = await Promise.allSettled(
          all.map((store, i) =>
            store.answerApproval(id, 'a1', { answer: i % 2 === 0 ? 'allow' : 'deny', by: `caller ${i}` }),
          ),
        )
        const won = results.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []))
        assert.equal(won.length, 1)
        for (const result of results)
          if (result.status === 'rejected') assert.equal(result.reason.code, 'expired')
        assert.deepEqual(await world.store.getApproval(id, 'a1'), won[0])
      }
    },
    'second handle',
  ),
]
