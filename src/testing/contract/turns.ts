import { strict as assert } from 'node:assert'
import type { BusyError, NotFoundError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import { collectPages } from '../../core/pages.ts'
import type { Store } from '../../core/ports.ts'
import type { Turn, TurnStep, Usage } from '../../core/turn.ts'
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

const it = casesOf('turns')
const open = (key: string, step = 0, pid = 1): TurnStep => ({
  key,
  step,
  status: 'open',
  holder: holder(pid),
})
const last = (key: string, step: number): TurnStep => ({ key, step, status: 'complete', holder: holder(1) })

/** The usage, with 0 for absent values. */
function charged(usage: Usage): number[] {
  const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0, reasoning = 0, cost = 0 } = usage
  return [input, output, cacheRead, cacheWrite, reasoning, cost]
}

async function turnOf(store: Store, id: ConversationId, key: string): Promise<Turn> {
  const turn = (await collectPages(page => store.listTurns(id, page))).find(one => one.key === key)
  return turn ?? assert.fail(`there is no turn ${key}`)
}

export const turnCases: readonly ContractCase[] = [
  it('creates no turn if the caller names none', async ({ store }) => {
    const { conversation, ids } = await startConversation(store)
    assert.deepEqual(await collectPages(page => store.listTurns(conversation.id, page)), [])
    const [message] = await store.getMessages([ids[0]])
    assert.deepEqual([message?.turn, message?.step], [null, null])
  }),
  it('stores a turn of one append as complete, with all its fields (S0-36)', async ({ store, clock }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const turn = { key: 't1', step: 4, model: 'scripted', promptHash: 'ab'.repeat(32), usage: { input: 7 } }
    const made = await store.append(branch, ids[2], [say('q'), say('a', 'assistant')], { turn })
    const [stored, ...others] = await collectPages(page => store.listTurns(conversation.id, page))
    assert.equal(others.length, 0)
    const { usage, ...rest } = stored!
    assert.deepEqual(charged(usage), [7, 0, 0, 0, 0, 0])
    assert.deepEqual(rest, {
      conversationId: conversation.id,
      key: 't1',
      branch: 'main',
      status: 'complete',
      first: 3,
      last: 4,
      lastStep: 4,
      model: 'scripted',
      promptHash: 'ab'.repeat(32),
      holder: null,
      leaseUntil: null,
      startedAt: new Date(clock.now),
      endedAt: new Date(clock.now),
    })
    for (const message of await store.getMessages(made.ids)) {
      assert.deepEqual([message.turn, message.step], [3, 4])
    }
  }),
  it('accepts interrupted and failed from the caller, without a holder (S3-76)', async ({ store, clock }) => {
    const { conversation, branch } = await store.create()
    for (const status of ['interrupted', 'failed'] as const) {
      const { head } = await store.getBranch(branch)
      await store.append(branch, head, [say('half an ans', 'assistant')], {
        turn: { key: status, step: 0, status },
      })
      const turn = await turnOf(store, conversation.id, status)
      assert.deepEqual([turn.status, turn.endedAt?.getTime()], [status, clock.now])
    }
    await appendTexts(store, branch, 'the branch is free')
    assert.equal((await store.getConversation(conversation.id)).messages, 3)
  }),
  it('accepts the steps of a turn and identifies it by its first message (S1-32)', async ({
    store,
    clock,
  }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const began = clock.now
    const q = await store.append(branch, ids[2], [say('q')], { turn: open('t1') })
    clock.now += 1_000
    const call = [say('calls a tool', 'assistant'), say('result', 'tool')] as const
    const s = await store.append(branch, q.head, call, { turn: { ...open('t1', 1), model: 'm' } })
    const running = await turnOf(store, conversation.id, 't1')
    assert.deepEqual([running.status, running.first, running.last, running.lastStep], ['open', 3, 5, 1])
    assert.deepEqual([running.holder, running.endedAt], [holder(1), null])
    clock.now += 1_000
    const a = await store.append(branch, s.head, [say('a', 'assistant')], { turn: last('t1', 2) })
    const ended = await turnOf(store, conversation.id, 't1')
    assert.deepEqual(
      [ended.status, ended.first, ended.last, ended.lastStep, ended.model, ended.holder, ended.leaseUntil],
      ['complete', 3, 6, 2, 'm', null, null],
    )
    assert.deepEqual([ended.startedAt.getTime(), ended.endedAt?.getTime()], [began, clock.now])
    const messages = await store.getMessages([...q.ids, ...s.ids, ...a.ids])
    assert.deepEqual(
      messages.map(message => [message.turn, message.step]),
      [
        [3, 0],
        [3, 1],
        [3, 1],
        [3, 2],
      ],
    )
  }),
  it('adds up the usage of steps on the turn and on the conversation (S1-33, S2-9)', async ({ store }) => {
    const { conversation, branch } = await store.create()
    const first = { input: 100, output: 20, cacheRead: 7, cacheWrite: 3, reasoning: 5, cost: 0.25 }
    const a = await store.append(branch, null, [say('q')], { turn: { ...open('t1'), usage: first } })
    const usage = { input: 50, output: 1, reasoning: 1, cost: 0.5 }
    const b = await store.append(branch, a.head, [say('s')], { turn: { ...open('t1', 1), usage } })
    const c = await store.append(branch, b.head, [say('no usage')], { turn: open('t1', 2) })
    const { turn } = await store.endTurn(conversation.id, 't1', {
      status: 'complete',
      heldBy: holder(1),
      usage: { output: 9 },
    })
    assert.deepEqual(charged(turn.usage), [150, 30, 7, 3, 6, 0.75])
    assert.deepEqual(charged((await turnOf(store, conversation.id, 't1')).usage), charged(turn.usage))
    await store.append(branch, c.head, [say('next')], {
      turn: { key: 't2', step: 0, usage: { input: 20 } },
    })
    const { tokensUsed, cost } = await store.getConversation(conversation.id)
    assert.deepEqual([tokensUsed, cost], [200, 0.75])
  }),
  it('refuses an open turn without a holder', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    await rejects(
      store.append(branch, ids[2], [say('q')], { turn: { key: 't1', step: 0, status: 'open' } }),
      'invalid',
    )
    assert.equal(await store.versionOf(conversation.id), conversation.version)
    assert.deepEqual(await collectPages(page => store.listTurns(conversation.id, page)), [])
  }),
  it('holds the branch for an open turn, names the holder to others and writes nothing', async ({
    store,
    clock,
  }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const { head } = await store.append(branch, ids[2], [say('q')], { turn: open('t1') })
    const version = await store.versionOf(conversation.id)
    for (const turn of [undefined, open('t2', 0, 2), { key: 't3', step: 0 }]) {
      const error = await rejects<BusyError>(
        store.append(branch, head, [say('me too')], turn ? { turn } : {}),
        'busy',
      )
      assert.deepEqual(error.holder, holder(1))
      assert.equal(error.leaseUntil?.getTime(), clock.now + 30_000)
    }
    assert.equal(await store.versionOf(conversation.id), version)
    assert.equal((await store.getBranch(branch)).head, head)
    assert.deepEqual(
      (await collectPages(page => store.listTurns(conversation.id, page))).map(turn => turn.key),
      ['t1'],
    )
  }),
  it('holds only its own branch (S3-2)', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const held = await store.append(branch, ids[2], [say('q')], { turn: open('t1') })
    const side = await store.createBranch(conversation.id, held.head, { name: 'side' })
    const made = await store.append(side, held.head, [say('beside')], { turn: open('t2', 0, 2) })
    assert.equal(made.outcome, 'appended')
    const next = await store.append(branch, held.head, [say('a', 'assistant')], { turn: open('t1', 1) })
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three', 'q', 'a'])
    assert.deepEqual(await said(store, side), ['one', 'two', 'three', 'q', 'beside'])
    const [first, second] = await collectPages(page => store.listTurns(conversation.id, page))
    assert.deepEqual([first?.branch, first?.first, first?.last], ['main', 3, 5])
    assert.deepEqual([second?.branch, second?.first, second?.last], ['side', 4, 4])
    assert.equal((await store.getMessages([next.head]))[0]?.turn, 3)
  }),
  it('refuses a step of an open turn from another holder', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const { head } = await store.append(branch, ids[2], [say('q')], { turn: open('t1') })
    const version = await store.versionOf(conversation.id)
    for (const other of [
      holder(2),
      { ...holder(1), host: 'elsewhere' },
      { ...holder(1), boot: 'boot-2' },
      { ...holder(1), startedAt: 2_000 },
    ]) {
      const turn = { ...open('t1', 1), holder: other }
      await rejects(store.append(branch, head, [say('a')], { turn }), 'expired')
      await rejects(store.renewTurn(conversation.id, 't1', other), 'expired')
    }
    assert.equal(await store.versionOf(conversation.id), version)
  }),
  it('renews the lease with every step and with renewTurn', async ({ store, clock }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const q = await store.append(branch, ids[2], [say('q')], { turn: open('t1') })
    clock.now += 10_000
    const renewed = await store.renewTurn(conversation.id, 't1', holder(1))
    assert.equal(renewed.leaseUntil?.getTime(), clock.now + 30_000)
    assert.deepEqual([renewed.key, renewed.status, renewed.holder], ['t1', 'open', holder(1)])
    assert.deepEqual(await turnOf(store, conversation.id, 't1'), renewed)
    clock.now += 10_000
    await store.append(branch, q.head, [say('a', 'assistant')], { turn: open('t1', 1) })
    const turn = await turnOf(store, conversation.id, 't1')
    assert.equal(turn.leaseUntil?.getTime(), clock.now + 30_000)
  }),
  it('ends a turn without a further message and frees the branch', async ({ store, clock }) => {
    const { conversation, branch, ids } = await startConversation(store)
    for (const status of ['complete', 'interrupted', 'failed'] as const) {
      const { head } = await store.getBranch(branch)
      const made = await store.append(branch, head, [say(status)], { turn: open(status) })
      const version = await store.versionOf(conversation.id)
      clock.now += 1_000
      const ended = await store.endTurn(conversation.id, status, { status, heldBy: holder(1) })
      assert.equal(ended.message, null)
      assert.deepEqual(
        [ended.turn.status, ended.turn.holder, ended.turn.leaseUntil, ended.turn.endedAt?.getTime()],
        [status, null, null, clock.now],
      )
      assert.deepEqual(ended.turn, await turnOf(store, conversation.id, status))
      assert.equal((await store.getBranch(branch)).head, made.head)
      assert.ok((await store.versionOf(conversation.id)) > version)
    }
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three', 'complete', 'interrupted', 'failed'])
    assert.equal((await store.getMessages([ids[2]]))[0]?.turn, null)
  }),
  it('ends a turn only for its holder, and only once', async ({ store }) => {
    const { conversation, branch, ids } = await startConversation(store)
    await store.append(branch, ids[2], [say('q')], { turn: open('t1') })
    const end = (pid: number) =>
      store.endTurn(conversation.id, 't1', { status: 'failed', heldBy: holder(pid), usage: { input: 5 } })
    await rejects(end(2), 'expired')
    assert.equal((await turnOf(store, conversation.id, 't1')).status, 'open')
    await end(1)
    await rejects(end(1), 'expired')
    await rejects(store.renewTurn(conversation.id, 't1', holder(1)), 'expired')
    assert.equal((await store.getConversation(conversation.id)).tokensUsed, 5)
  }),
  it('does not find a turn by an unused key', async ({ store }) => {
    const { conversation } = await startConversation(store)
    const end = { status: 'complete', heldBy: holder(1) } as const
    for (const ask of [
      () => store.endTurn(conversation.id, 'never', end),
      () => store.renewTurn(conversation.id, 'never', holder(1)),
    ]) {
      const error = await rejects<NotFoundError>(ask(), 'not_found')
      assert.deepEqual([error.kind, error.id], ['turn', 'never'])
    }
    const gone = await rejects<NotFoundError>(store.endTurn(noConversation, 'never', end), 'not_found')
    assert.equal(gone.kind, 'conversation')
  }),
  it('keeps the branch held after the lease has expired, until the turn is ended in the name of its holder', async ({
    store,
    clock,
  }) => {
    const { conversation, branch, ids } = await startConversation(store)
    const { head } = await store.append(branch, ids[2], [say('q')], { turn: open('t1') })
    clock.now += 30_001
    const next = { turn: open('t2', 0, 2) }
    const busy = await rejects<BusyError>(store.append(branch, head, [say('next')], next), 'busy')
    assert.ok(busy.leaseUntil !== null && busy.leaseUntil.getTime() < clock.now)
    const end = { status: 'interrupted', heldBy: busy.holder! } as const
    const ended = await store.endTurn(conversation.id, 't1', end)
    assert.equal(ended.turn.status, 'interrupted')
    await store.append(branch, head, [say('next')], next)
    // The previous holder returns and may no longer write to the turn.
    const late = [say('too late', 'assistant')] as const
    await rejects(store.append(branch, head, late, { turn: open('t1', 1) }), 'expired')
    await rejects(store.renewTurn(conversation.id, 't1', holder(1)), 'expired')
    await rejects(store.endTurn(conversation.id, 't1', end), 'expired')
    assert.deepEqual(await said(store, branch), ['one', 'two', 'three', 'q', 'next'])
  }),
  it('lists turns in the order of their start, all or by status', async ({ store }) => {
    const { conversation, branch } = await store.create()
    for (const status of ['complete', 'failed', 'interrupted', 'complete'] as const) {
      const { head } = await store.getBranch(branch)
      const key = `t${(await collectPages(page => store.listTurns(conversation.id, page))).length}`
      await store.append(branch, head, [say(key)], { turn: { key, step: 0, status } })
    }
    const { head } = await store.getBranch(branch)
    await store.append(branch, head, [say('open')], { turn: open('t4') })
    const keys = async (status?: Turn['status']) =>
      (
        await collectPages(page =>
          store.listTurns(conversation.id, { ...(status ? { status } : {}), ...page }),
        )
      ).map(turn => turn.key)
    assert.deepEqual(await keys(), ['t0', 't1', 't2', 't3', 't4'])
    assert.deepEqual(await keys('complete'), ['t0', 't3'])
    assert.deepEqual(await keys('failed'), ['t1'])
    assert.deepEqual(await keys('interrupted'), ['t2'])
    assert.deepEqual(await keys('open'), ['t4'])
    const other = await startConversation(store)
    assert.deepEqual(await collectPages(page => store.listTurns(other.conversation.id, page)), [])
  }),
]
