import { strict as assert } from 'node:assert'
import type { BusyError, KeyReusedError, NotFoundError } from '../../core/errors.ts'
import { collectPages } from '../../core/pages.ts'
import type { Store } from '../../core/ports.ts'
import { type Task, wordsOfDispatch } from '../../core/task.ts'
import { casesOf, holder, rejects, startConversation } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('task queue')

const worker = { holder: holder(), worker: 'w1' }

/** Claims the oldest dispatch, which must exist. */
async function claim(store: Store, projects?: readonly string[]) {
  const claimed = await store.claimDispatch(worker, projects ? { projects } : {})
  assert.ok(claimed, 'there is a queued dispatch')
  return claimed
}

async function runNext(store: Store, result: object = {}): Promise<string> {
  const { claim: held, dispatch } = await claim(store)
  await store.finishDispatch(held, { status: 'done', result })
  return `${dispatch.task}#${dispatch.n}`
}

const idsOf = (tasks: readonly Task[]) => tasks.map(task => task.id)

export const taskQueueCases: readonly ContractCase[] = [
  it('stores a task with all its fields, and queues its first dispatch (S2-2)', async ({ store, clock }) => {
    const metadata = { agent_id: 'a', nested: { n: [1, 'größe 語'] } }
    const task = await store.submitTask({
      id: 'bead-1',
      project: 'web',
      description: 'Find the bug',
      context: 'It is flaky',
      parent: 'bead-0',
      metadata,
    })
    const now = new Date(clock.now)
    assert.deepEqual(task, {
      id: 'bead-1',
      project: 'web',
      description: 'Find the bug',
      context: 'It is flaky',
      status: 'queued',
      current: 1,
      dispatches: 1,
      conversationId: null,
      parent: 'bead-0',
      metadata,
      createdAt: now,
      updatedAt: now,
    })
    assert.deepEqual(await store.getTask('bead-1'), task)
    const dispatch = await store.getDispatch('bead-1', 1)
    assert.deepEqual(dispatch, {
      task: 'bead-1',
      n: 1,
      words: null,
      status: 'queued',
      attempts: 0,
      deaths: 0,
      holder: null,
      worker: null,
      leaseUntil: null,
      cancelRequested: false,
      conversationId: null,
      result: null,
      error: null,
      createdAt: now,
      queuedAt: now,
      startedAt: null,
      endedAt: null,
    })
    assert.equal(wordsOfDispatch(task, dispatch), 'Find the bug\n\nContext:\nIt is flaky')
  }),
  it('numbers tasks without an id, and skips ids that are taken', async ({ store }) => {
    await store.submitTask({ id: 'T-2', description: 'mine' })
    const ids = []
    for (let i = 0; i < 3; i++) ids.push((await store.submitTask({ description: `task ${i}` })).id)
    assert.deepEqual(ids, ['T-1', 'T-3', 'T-4'])
  }),
  it('stores a task with the same id and fields once, and refuses other fields', async ({ store }) => {
    const task = { id: 'b', project: 'p', description: 'do it', metadata: { a: 1 } }
    const first = await store.submitTask(task)
    assert.deepEqual(await store.submitTask(task), first)
    const changes = [{ description: 'other' }, { project: null }, { context: 'c' }, { metadata: { a: 2 } }]
    for (const change of changes) {
      const error = await rejects<KeyReusedError>(store.submitTask({ ...task, ...change }), 'key_reused')
      assert.equal(error.key, 'b')
    }
    assert.equal((await collectPages(page => store.listDispatches('b', page))).length, 1)
  }),
  it('claims the oldest dispatch first, and each one once (S2-18)', async ({ store, clock }) => {
    assert.equal(await store.claimDispatch(worker), null)
    for (const id of ['c', 'a', 'b']) {
      await store.submitTask({ id, description: id })
      clock.now += 1
    }
    const order = []
    for (let i = 0; i < 3; i++) order.push((await claim(store)).task.id)
    assert.deepEqual(order, ['c', 'a', 'b'])
    assert.equal(await store.claimDispatch(worker), null)
  }),
  it('holds a claimed dispatch for half a minute in the name of the worker', async ({ store, clock }) => {
    await store.submitTask({ id: 't', description: 'd' })
    clock.now += 5_000
    const { task, dispatch, claim: held } = await claim(store)
    assert.deepEqual([task.status, dispatch.status, dispatch.attempts], ['running', 'running', 1])
    assert.deepEqual([dispatch.holder, dispatch.worker], [holder(), 'w1'])
    assert.deepEqual(dispatch.leaseUntil, new Date(clock.now + 30_000))
    assert.deepEqual(dispatch.startedAt, new Date(clock.now))
    assert.deepEqual(held, { task: 't', n: 1, attempt: 1 })
    assert.deepEqual(await store.getTask('t'), task)
    assert.deepEqual(await store.getDispatch('t', 1), dispatch)
    clock.now += 10_000
    const renewed = await store.renewDispatch(held)
    assert.deepEqual(renewed.leaseUntil, new Date(clock.now + 30_000))
    assert.deepEqual(await store.getDispatch('t', 1), renewed)
  }),
  it('ends a dispatch with its result, and repeats the answer (S2-27, S2-29)', async ({ store, clock }) => {
    await store.submitTask({ id: 't', description: 'd' })
    const { claim: held } = await claim(store)
    clock.now += 1_000
    const end = { status: 'done', result: { response: 'found', tokens_used: 7 } } as const
    const ended = await store.finishDispatch(held, end)
    assert.deepEqual([ended.status, ended.result, ended.error], ['done', end.result, null])
    assert.deepEqual(ended.endedAt, new Date(clock.now))
    assert.deepEqual(await store.finishDispatch(held, end), ended)
    assert.deepEqual(await store.getDispatch('t', 1), ended)
    const task = await store.getTask('t')
    assert.deepEqual([task.status, task.updatedAt], ['done', new Date(clock.now)])
    await rejects(store.finishDispatch(held, { status: 'failed', error: 'no' }), 'expired')
    for (const late of [() => store.renewDispatch(held), () => store.releaseDispatch(held)])
      await rejects(late(), 'expired')
  }),
  it('links a dispatch and its task to a conversation (S2-20)', async ({ store }) => {
    const { conversation } = await startConversation(store, { task: 't' })
    await store.submitTask({ id: 't', description: 'd' })
    const { claim: held } = await claim(store)
    await store.linkDispatch(held, conversation.id)
    assert.equal((await store.getTask('t')).conversationId, conversation.id)
    assert.equal((await store.getDispatch('t', 1)).conversationId, conversation.id)
    await store.finishDispatch(held, { status: 'done' })
    await rejects(store.linkDispatch(held, conversation.id), 'expired')
  }),
  it('orders the same words twice as two dispatches (S2-65)', async ({ store }) => {
    await store.submitTask({ id: 't', description: 'Investigate' })
    await runNext(store)
    const words = 'Continue investigation'
    const [second, third] = [
      await store.dispatchTask('t', { words }),
      await store.dispatchTask('t', { words }),
    ]
    assert.deepEqual([second.n, second.status, third.n, third.status], [2, 'queued', 3, 'waiting'])
    assert.equal(third.queuedAt, null)
    assert.deepEqual([await runNext(store), await runNext(store)], ['t#2', 't#3'])
    const all = await collectPages(page => store.listDispatches('t', { limit: 2, ...page }))
    assert.deepEqual(
      all.map(one => [one.n, one.words, one.status]),
      [
        [1, null, 'done'],
        [2, words, 'done'],
        [3, words, 'done'],
      ],
    )
    assert.deepEqual([(await store.getTask('t')).dispatches, (await store.getTask('t')).current], [3, 3])
  }),
  it('runs one dispatch of a task at a time; others wait or are refused', async ({ store }) => {
    await store.submitTask({ id: 't', description: 'd' })
    assert.equal(
      (await rejects<BusyError>(store.dispatchTask('t', { onBusy: 'refuse' }), 'busy')).holder,
      null,
    )
    const { claim: held } = await claim(store)
    const error = await rejects<BusyError>(store.dispatchTask('t', { onBusy: 'refuse' }), 'busy')
    assert.deepEqual([error.holder, error.what], [holder(), 'task "t"'])
    assert.equal((await store.dispatchTask('t')).status, 'waiting')
    assert.equal(await store.claimDispatch(worker), null)
    await rejects(store.claimThisDispatch('t', 2, worker), 'busy')
    await store.finishDispatch(held, { status: 'failed', error: 'no' })
    assert.equal((await store.getTask('t')).status, 'queued')
    assert.equal(await runNext(store), 't#2')
    assert.equal((await store.getTask('t')).status, 'done')
  }),
  it('returns the dispatch of a repeated delivery', async ({ store }) => {
    await store.submitTask({ id: 't', description: 'd' })
    assert.equal((await store.dispatchTask('t', { n: 1 })).n, 1)
    await runNext(store)
    const made = await store.dispatchTask('t', { n: 2, words: 'again' })
    assert.deepEqual(await store.dispatchTask('t', { n: 2, words: 'again' }), made)
    await rejects(store.dispatchTask('t', { n: 2, words: 'other' }), 'key_reused')
    await rejects(store.dispatchTask('t', { n: 4 }), 'invalid')
    assert.equal((await store.getTask('t')).dispatches, 2)
  }),
  it('claims one dispatch by its number', async ({ store }) => {
    await store.submitTask({ id: 'a', description: 'a' })
    await store.submitTask({ id: 'b', description: 'b' })
    const claimed = await store.claimThisDispatch('b', 1, worker)
    assert.equal(claimed?.task.id, 'b')
    const error = await rejects<BusyError>(store.claimThisDispatch('b', 1, worker), 'busy')
    assert.deepEqual(error.holder, holder())
    await store.finishDispatch(claimed!.claim, { status: 'done' })
    assert.equal(await store.claimThisDispatch('b', 1, worker), null)
    const missing = await rejects<NotFoundError>(store.claimThisDispatch('b', 2, worker), 'not_found')
    assert.equal(missing.kind, 'dispatch')
    assert.equal((await claim(store)).task.id, 'a')
  }),
  it('claims only tasks of the projects that it is asked for', async ({ store, clock }) => {
    for (const [id, project] of [
      ['1', 'b'],
      ['2', 'a'],
      ['3', null],
      ['4', 'b'],
    ] as const) {
      await store.submitTask({ id, project, description: id })
      clock.now += 1
    }
    assert.equal(await store.claimDispatch(worker, { projects: ['c'] }), null)
    assert.equal(await store.claimDispatch(worker, { projects: ['c', 'd'] }), null)
    assert.equal((await claim(store, ['a', 'b'])).task.id, '1')
    assert.equal((await claim(store, ['b'])).task.id, '4')
    assert.equal((await claim(store, ['b', 'a', 'a'])).task.id, '2')
    assert.equal(await store.claimDispatch(worker, { projects: ['a', 'b'] }), null)
    assert.equal((await claim(store)).task.id, '3')
  }),
  it('lists tasks by project, state and age, newest first, page by page', async ({ store, clock }) => {
    const start = clock.now
    for (let i = 0; i < 9; i++) {
      await store.submitTask({ id: `t${i}`, project: i % 2 === 0 ? 'even' : null, description: 'd' })
      clock.now += 10
    }
    for (let i = 0; i < 3; i++) await runNext(store)
    const { claim: held } = await claim(store)
    await store.finishDispatch(held, { status: 'failed', error: 'no' })
    const list = async (options: Parameters<Store['listTasks']>[0] = {}) =>
      idsOf(await collectPages(page => store.listTasks({ limit: 2, ...options, ...page })))
    assert.deepEqual(await list(), ['t8', 't7', 't6', 't5', 't4', 't3', 't2', 't1', 't0'])
    assert.deepEqual(await list({ project: 'even' }), ['t8', 't6', 't4', 't2', 't0'])
    assert.deepEqual(await list({ status: 'done' }), ['t2', 't1', 't0'])
    assert.deepEqual(await list({ status: 'done', project: 'even' }), ['t2', 't0'])
    assert.deepEqual(await list({ status: 'failed' }), ['t3'])
    assert.deepEqual(await list({ status: 'failed', project: 'even' }), [])
    assert.deepEqual(await list({ status: 'queued', project: 'even' }), ['t8', 't6', 't4'])
    const range = { createdFrom: new Date(start + 10), createdBefore: new Date(start + 30) }
    assert.deepEqual(await list(range), ['t2', 't1'])
    assert.deepEqual(await store.countTasks(), { queued: 5, running: 0, done: 3, failed: 1, cancelled: 0 })
    await rejects(store.listTasks({ after: 'x' }), 'invalid')
  }),
  it('refuses invalid tasks, words and names, and stores nothing', async ({ store }) => {
    const long = 'x'.repeat(1_048_577)
    for (const id of ['', 'a\0b', '\ud800', 'n'.repeat(10_000)]) {
      await rejects(store.submitTask({ id, description: 'd' }), 'invalid')
      await rejects(store.submitTask({ project: id, description: 'd' }), 'invalid')
      await rejects(store.getTask(id), 'invalid')
      await rejects(store.claimDispatch({ ...worker, worker: id }), 'invalid')
    }
    for (const words of ['', ' \n', 'a\0b', long]) {
      await rejects(store.submitTask({ description: words }), 'invalid')
      await rejects(store.submitTask({ description: 'd', context: words }), 'invalid')
      await rejects(store.dispatchTask('t', { words }), 'invalid')
    }
    await rejects(store.submitTask({ description: 'd', metadata: { x: 'y'.repeat(70_000) } }), 'invalid')
    await rejects(store.claimDispatch(worker, { projects: [] }), 'invalid')
    await rejects(store.listTasks({ status: 'waiting' as 'done' }), 'invalid')
    assert.deepEqual((await store.listTasks()).items, [])
  }),
  it('reports unknown tasks and dispatches', async ({ store }) => {
    const held = { task: 'x', n: 1, attempt: 1 }
    const calls = [
      () => store.getTask('x'),
      () => store.dispatchTask('x'),
      () => store.getDispatch('x', 1),
      () => store.listDispatches('x'),
      () => store.claimThisDispatch('x', 1, worker),
      () => store.renewDispatch(held),
      () => store.finishDispatch(held, { status: 'done' }),
      () => store.releaseDispatch(held),
      () => store.cancelTask('x'),
      () => store.retryTask('x'),
      () => store.deleteTask('x'),
    ]
    for (const call of calls) await rejects(call(), 'not_found')
    assert.deepEqual(await store.deleteProject('x'), { tasks: 0, trashed: [] })
  }),
]
