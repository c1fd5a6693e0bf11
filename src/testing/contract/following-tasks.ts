import { strict as assert } from 'node:assert'
import type { FollowActivityOptions, TaskEvent } from '../../core/follow.ts'
import type { Store } from '../../core/ports.ts'
import { casesOf, holder } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('following tasks')

const worker = { holder: holder(), worker: 'w' }

/** Starts to follow tasks, from the time of the store's clock on. */
function following(store: Store, options: FollowActivityOptions) {
  const stop = new AbortController()
  const events = store.followTasks({ ...options, signal: stop.signal })[Symbol.asyncIterator]()
  const seen: string[] = []
  return {
    /** Reads events until one has this line. Returns it. */
    async until(last: string): Promise<TaskEvent> {
      for (;;) {
        const { value, done } = await events.next()
        assert.ok(!done, `it ended before ${last}: ${seen.join(', ')}`)
        seen.push(
          value.type === 'task' ? `${value.task.id} ${value.task.status}` : `${value.id} ${value.type}`,
        )
        if (seen.at(-1) === last) return value
        assert.ok(seen.length < 1_000, `no ${last} among 1,000 events`)
      }
    },
    seen,
    async end() {
      stop.abort()
      assert.equal((await events.next()).done, true)
    },
  }
}

export const followingTaskCases: readonly ContractCase[] = [
  it('delivers the states of a task from its submission to its deletion', async ({ store, clock }) => {
    const { until, end } = following(store, { since: new Date(clock.now) })
    await store.submitTask({ id: 'old', description: 'd' })
    await until('old queued')
    clock.now += 120_000 // longer than a poll looks back
    const { claim } = (await store.claimDispatch(worker))!
    await until('old running')
    await store.finishDispatch(claim, { status: 'failed', error: 'e' })
    const failed = await until('old failed')
    assert.equal(failed.type === 'task' && failed.task.dispatches, 1)
    await store.retryTask('old')
    await until('old queued')
    await store.cancelTask('old')
    await until('old cancelled')
    await store.deleteTask('old')
    await until('old task_deleted')
    await end()
  }),
  it('notices changes of tasks that were queued long before', async ({ store, clock }) => {
    await store.submitTask({ id: 'a', description: 'd' })
    await store.submitTask({ id: 'b', description: 'd' })
    clock.now += 3_600_000
    const { until, seen, end } = following(store, { since: new Date(clock.now) })
    await store.submitTask({ id: 'c', description: 'd' })
    await until('c queued')
    await store.cancelTask('a')
    await until('a cancelled')
    assert.deepEqual(seen, ['c queued', 'a cancelled'])
    await end()
  }),
  it('continues after a cursor with what has changed meanwhile', async ({ store, clock }) => {
    const first = following(store, { since: new Date(clock.now) })
    await store.submitTask({ id: 'a', description: 'd' })
    const { cursor } = await first.until('a queued')
    await first.end()
    clock.now += 600_000
    await store.finishDispatch((await store.claimDispatch(worker))!.claim, { status: 'failed', error: 'e' })
    await store.submitTask({ id: 'b', description: 'd' })
    const second = following(store, { after: cursor })
    await second.until('b queued')
    assert.deepEqual(second.seen.toSorted(), ['a failed', 'b queued'])
    await second.end()
  }),
  it(
    'delivers changes of another handle',
    async ({ store, clock, second }) => {
      const { until, end } = following(store, { since: new Date(clock.now) })
      const other = await second()
      await other.submitTask({ id: 'a', description: 'd' })
      await until('a queued')
      await other.claimDispatch(worker)
      await until('a running')
      await end()
    },
    'second handle',
  ),
  it('ends when the store is closed', async ({ store }) => {
    const events = store.followTasks()[Symbol.asyncIterator]()
    const next = events.next()
    await new Promise(setImmediate)
    await store.close()
    assert.equal((await next).done, true)
  }),
]
