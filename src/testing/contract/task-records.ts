import { strict as assert } from 'node:assert'
import { collectPages } from '../../core/pages.ts'
import type { RecordMover } from '../../core/record.ts'
import type { TaskRecord } from '../../core/task-record.ts'
import { casesOf, holder, startConversation } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('task records')
const worker = { holder: holder(), worker: 'w1' }

async function tasksOf(store: Pick<RecordMover, 'readTaskRecords'>): Promise<TaskRecord[]> {
  const records: TaskRecord[] = []
  for await (const record of store.readTaskRecords()) records.push(record)
  return records
}

const dispatch = {
  words: null,
  status: 'done',
  attempts: 1,
  deaths: 0,
  worker: 'w',
  conversationId: null,
  result: { response: 'r' },
  error: null,
  createdAt: 1,
  queuedAt: 1,
  startedAt: 2,
  endedAt: 3,
} as const

const record: TaskRecord = {
  kind: 'task',
  id: 'T-7',
  project: 'p',
  description: 'd',
  context: null,
  parent: null,
  metadata: { a: [1] },
  conversationId: null,
  dispatches: [dispatch],
  createdAt: 1,
  updatedAt: 3,
}

export const taskRecordCases: readonly ContractCase[] = [
  it('reads tasks with their dispatches, and writes them once', async ({ store, clock }) => {
    const { conversation } = await startConversation(store, { task: 'a' })
    await store.submitTask({ id: 'a', project: 'p', description: 'd', context: 'c', metadata: { x: 1 } })
    const first = await store.claimDispatch(worker)
    await store.linkDispatch(first!.claim, conversation.id)
    clock.now += 10
    await store.dispatchTask('a', { words: 'more' })
    await store.dispatchTask('a', { words: 'and more' })
    await store.finishDispatch(first!.claim, { status: 'failed', error: 'no', result: { success: false } })
    await store.claimDispatch(worker)
    const [read, ...others] = await tasksOf(store)
    assert.deepEqual(others, [])
    assert.deepEqual(
      read!.dispatches.map(({ status, words, error }) => [status, words, error]),
      [
        ['failed', null, 'no'],
        // A claim is not part of a record.
        ['queued', 'more', null],
        ['waiting', 'and more', null],
      ],
    )
    assert.deepEqual(await store.writeRecords([read!]), [{ outcome: 'present', note: null }])
    await store.releaseDispatch({ task: 'a', n: 2, attempt: 1 })
    const before = await store.getTask('a')
    const dispatches = await collectPages(page => store.listDispatches('a', page))
    await store.deleteTask('a')
    assert.deepEqual(await store.writeRecords([read!]), [{ outcome: 'added', note: null }])
    assert.deepEqual({ ...(await store.getTask('a')), updatedAt: null }, { ...before, updatedAt: null })
    assert.deepEqual(await collectPages(page => store.listDispatches('a', page)), dispatches)
    const next = await store.claimDispatch(worker)
    assert.deepEqual([next?.claim.n, next?.claim.attempt], [2, 2])
  }),
  it('continues the numbers of tasks after those that were written', async ({ store }) => {
    assert.deepEqual(await store.writeRecords([record]), [{ outcome: 'added', note: null }])
    assert.equal((await store.getTask('T-7')).status, 'done')
    assert.equal((await store.submitTask({ description: 'd' })).id, 'T-8')
    assert.deepEqual(await store.countTasks(), { queued: 1, running: 0, done: 1, failed: 0, cancelled: 0 })
    assert.deepEqual((await store.verify()).findings, { damage: 0, repairable: 0, note: 0 })
  }),
  it('refuses records of tasks that no store could have written', async ({ store }) => {
    const queued = { ...dispatch, status: 'queued' } as const
    const waiting = { ...dispatch, status: 'waiting' } as const
    const bad: unknown[] = [
      { ...record, dispatches: [] },
      { ...record, dispatches: [queued, queued] },
      { ...record, dispatches: [waiting] },
      { ...record, dispatches: [waiting, queued] },
      { ...record, dispatches: [{ ...dispatch, status: 'running' }] },
      { ...record, id: 'a\0b' },
      { ...record, description: '' },
      { ...record, metadata: [] },
    ]
    for (const one of bad) {
      const [outcome] = await store.writeRecords([one as TaskRecord])
      assert.equal(outcome?.outcome, 'refused', JSON.stringify(one))
    }
    assert.deepEqual(await tasksOf(store), [])
  }),
]
