import { strict as assert } from 'node:assert'
import type { Store } from '../../core/ports.ts'
import type { ClaimedDispatch } from '../../core/task.ts'
import { casesOf, holder, rejects, startConversation, writers } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('task claims')

const worker = { holder: holder(), worker: 'w1' }

async function submitAndClaim(store: Store, id = 't'): Promise<ClaimedDispatch> {
  await store.submitTask({ id, description: 'd' })
  const claimed = await store.claimThisDispatch(id, 1, worker)
  assert.ok(claimed)
  return claimed
}

export const taskClaimCases: readonly ContractCase[] = [
  it('gives a dispatch back to the front of the queue', async ({ store, clock }) => {
    const { claim } = await submitAndClaim(store)
    clock.now += 1_000
    await store.submitTask({ id: 'later', description: 'd' })
    const released = await store.releaseDispatch(claim)
    assert.deepEqual([released.status, released.holder, released.deaths], ['queued', null, 0])
    await rejects(store.releaseDispatch(claim), 'expired')
    const again = await store.claimDispatch({ holder: holder(2), worker: 'w2' })
    assert.deepEqual([again?.task.id, again?.claim.attempt], ['t', 2])
    await rejects(store.finishDispatch(claim, { status: 'done' }), 'expired')
    await rejects(store.renewDispatch(claim), 'expired')
  }),
  it('takes the claim of a dead worker, unless the claim was renewed meanwhile', async ({ store, clock }) => {
    const { claim, dispatch } = await submitAndClaim(store)
    clock.now += 10_000
    const renewed = await store.renewDispatch(claim)
    assert.equal(await store.reclaimDispatch(dispatch), null)
    const reclaimed = await store.reclaimDispatch(renewed)
    assert.deepEqual([reclaimed?.status, reclaimed?.deaths, reclaimed?.holder], ['queued', 1, null])
    assert.equal(await store.reclaimDispatch(renewed), null)
    await rejects(store.renewDispatch(claim), 'expired')
    await rejects(store.finishDispatch(claim, { status: 'done' }), 'expired')
    assert.equal((await store.claimDispatch(worker))?.dispatch.deaths, 1)
  }),
  it('fails a dispatch after three deaths in a row', async ({ store }) => {
    await store.submitTask({ id: 't', description: 'd' })
    await store.dispatchTask('t', { words: 'next' })
    const die = async () => store.reclaimDispatch((await store.claimDispatch(worker))!.dispatch)
    await die()
    await die()
    // A worker that stops on purpose has not died: the count begins again.
    await store.releaseDispatch((await store.claimDispatch(worker))!.claim)
    for (const deaths of [1, 2]) assert.deepEqual([(await die())?.deaths], [deaths])
    const failed = await die()
    assert.deepEqual([failed?.status, failed?.error], ['failed', 'the worker died 3 times in a row'])
    assert.deepEqual(await store.getDispatch('t', 1), failed)
    const next = await store.claimDispatch(worker)
    assert.deepEqual([next?.dispatch.n, next?.dispatch.deaths, next?.claim.attempt], [2, 0, 1])
  }),
  it('cancels a queued task with the dispatches that wait', async ({ store, clock }) => {
    await store.submitTask({ id: 't', description: 'd' })
    await store.dispatchTask('t')
    clock.now += 1
    assert.equal((await store.cancelTask('t')).status, 'cancelled')
    const { items } = await store.listDispatches('t')
    assert.deepEqual(
      items.map(({ status, endedAt }) => [status, endedAt]),
      [
        ['cancelled', new Date(clock.now)],
        ['cancelled', new Date(clock.now)],
      ],
    )
    assert.equal(await store.claimDispatch(worker), null)
    assert.equal((await store.cancelTask('t')).status, 'cancelled')
    assert.equal((await store.dispatchTask('t')).n, 3)
  }),
  it('refuses to cancel a task that is done or has failed', async ({ store }) => {
    for (const status of ['done', 'failed'] as const) {
      await store.submitTask({ id: status, description: 'd' })
      const { claim } = (await store.claimDispatch(worker))!
      await store.finishDispatch(claim, { status })
      const error = await rejects(store.cancelTask(status), 'invalid')
      assert.match(error.message, new RegExp(`is ${status}: only a queued or running task is cancelled`))
      assert.equal((await store.getTask(status)).status, status)
    }
  }),
  it('asks a running dispatch to stop', async ({ store }) => {
    const { claim } = await submitAndClaim(store)
    await store.dispatchTask('t')
    assert.equal((await store.cancelTask('t')).status, 'running')
    assert.equal((await store.renewDispatch(claim)).cancelRequested, true)
    assert.equal((await store.finishDispatch(claim, { status: 'cancelled' })).status, 'cancelled')
    assert.equal((await store.getTask('t')).status, 'cancelled')
  }),
  it('does not queue a dispatch again that was asked to stop', async ({ store }) => {
    const one = await submitAndClaim(store, 'released')
    const two = await submitAndClaim(store, 'dead')
    for (const id of ['released', 'dead']) await store.cancelTask(id)
    assert.equal((await store.releaseDispatch(one.claim)).status, 'cancelled')
    assert.equal((await store.reclaimDispatch(two.dispatch))?.status, 'cancelled')
    assert.equal(await store.claimDispatch(worker), null)
  }),
  it('queues a failed or cancelled dispatch again, as the same one', async ({ store }) => {
    const { claim } = await submitAndClaim(store)
    await rejects(store.retryTask('t'), 'invalid')
    await store.finishDispatch(claim, { status: 'failed', error: 'no' })
    assert.deepEqual(
      [(await store.retryTask('t')).status, (await store.getDispatch('t', 1)).error],
      ['queued', null],
    )
    await rejects(store.retryTask('t'), 'invalid')
    const again = await store.claimDispatch(worker)
    assert.deepEqual([again?.dispatch.n, again?.claim.attempt, again?.dispatch.deaths], [1, 2, 0])
    await rejects(store.finishDispatch(claim, { status: 'failed', error: 'no' }), 'expired')
    await store.finishDispatch(again!.claim, { status: 'done' })
    await rejects(store.retryTask('t'), 'invalid')
  }),
  it('lists the dispatches that run', async ({ store }) => {
    assert.deepEqual((await store.listRunningDispatches()).items, [])
    const claimed = [await submitAndClaim(store, 'a'), await submitAndClaim(store, 'b')]
    await store.submitTask({ id: 'c', description: 'd' })
    const page = await store.listRunningDispatches({ limit: 1 })
    assert.deepEqual(page.items, [claimed[0]!.dispatch])
    const rest = await store.listRunningDispatches({ after: page.next! })
    assert.deepEqual([rest.items, rest.next], [[claimed[1]!.dispatch], null])
  }),
  it('deletes a task and moves its conversations to the trash (S2-14)', async ({ store, clock }) => {
    const { claim } = await submitAndClaim(store)
    const own = await startConversation(store, { task: 't' })
    const old = await startConversation(store, { task: 't', ttlMs: 1_000, key: 'k' })
    const other = await startConversation(store, { task: 't', project: 'p' })
    clock.now += 5_000
    await rejects(store.deleteTask('t'), 'busy')
    assert.equal((await store.getConversation(own.conversation.id)).trashedAt, null)
    await store.finishDispatch(claim, { status: 'done' })
    const { tasks, trashed } = await store.deleteTask('t')
    assert.deepEqual([tasks, trashed.toSorted()], [1, [own.conversation.id, old.conversation.id].toSorted()])
    await rejects(store.getTask('t'), 'not_found')
    await rejects(store.getDispatch('t', 1), 'not_found')
    assert.deepEqual((await store.getConversation(own.conversation.id)).trashedAt, new Date(clock.now))
    assert.equal((await store.getConversation(other.conversation.id)).trashedAt, null)
    assert.equal(await store.findByKey('k'), null)
  }),
  it('deletes a project with its tasks and conversations, or nothing (S2-14)', async ({ store }) => {
    await store.submitTask({ id: 'a', project: 'p', description: 'd' })
    await store.submitTask({ id: 'b', project: 'p', description: 'd' })
    await store.submitTask({ id: 'c', project: 'q', description: 'd' })
    const task = await startConversation(store, { task: 'a', project: 'p' })
    const loose = await startConversation(store, { project: 'p' })
    const other = await startConversation(store, { project: 'q' })
    const claimed = await store.claimThisDispatch('b', 1, worker)
    await rejects(store.deleteProject('p'), 'busy')
    assert.equal((await store.listTasks({ project: 'p' })).items.length, 2)
    await store.releaseDispatch(claimed!.claim)
    const { tasks, trashed } = await store.deleteProject('p')
    assert.deepEqual(
      [tasks, trashed.toSorted()],
      [2, [task.conversation.id, loose.conversation.id].toSorted()],
    )
    assert.equal((await store.getConversation(other.conversation.id)).trashedAt, null)
    assert.deepEqual(
      (await store.listTasks()).items.map(({ id }) => id),
      ['c'],
    )
    assert.equal((await store.claimDispatch(worker))?.task.id, 'c')
    assert.equal(await store.claimDispatch(worker), null)
  }),
  it(
    'gives each dispatch to one of many workers',
    async world => {
      const stores = await writers(world)
      for (let round = 0; round < 20; round++) {
        for (let i = 0; i < 5; i++) await world.store.submitTask({ id: `${round}-${i}`, description: 'd' })
        const claimed = await Promise.all(stores.map(store => store.claimDispatch(worker)))
        const ids = claimed.flatMap(one => (one ? [one.task.id] : []))
        // A worker skips what another one is about to claim, and may find nothing at that moment.
        assert.equal(new Set(ids).size, ids.length)
        for (let more = await world.store.claimDispatch(worker); more; ) {
          ids.push(more.task.id)
          more = await world.store.claimDispatch(worker)
        }
        assert.deepEqual(
          ids.toSorted(),
          [0, 1, 2, 3, 4].map(i => `${round}-${i}`),
        )
      }
    },
    'second handle',
  ),
  it(
    'numbers the tasks and dispatches of many callers without a gap',
    async world => {
      const stores = await writers(world)
      const tasks = await Promise.all(stores.map(store => store.submitTask({ description: 'd' })))
      assert.deepEqual(
        tasks.map(({ id }) => id).toSorted(),
        [1, 2, 3, 4, 5, 6, 7, 8].map(n => `T-${n}`),
      )
      const made = await Promise.all(stores.map(store => store.dispatchTask('T-1', { words: 'again' })))
      assert.deepEqual(
        made.map(({ n }) => n).toSorted((a, b) => a - b),
        [2, 3, 4, 5, 6, 7, 8, 9],
      )
    },
    'second handle',
  ),
]
