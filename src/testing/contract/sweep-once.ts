import { strict as assert } from 'node:assert'
import { casesOf, rejects, writers } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('sweep')
const hour = 3_600_000
const day = 24 * hour

const idle = { dryRun: false, skipped: false, trashed: [], purged: [], clockJumped: null, remains: [] }

/** A sweep that is skipped if another process has swept a short time ago. */
export const sweepOnceCases: readonly ContractCase[] = [
  it('sweeps only if the last sweep is old enough, if asked', async world => {
    const { store, clock } = world
    const { conversation } = await store.create({
      task: 'task-1',
      ttlMs: day,
      expiresAt: new Date(clock.now + day),
    })
    assert.deepEqual(await store.sweep({ ifOlderThanMs: hour }), idle)
    clock.now += day + 1 - hour
    assert.deepEqual(await store.sweep(), idle)
    clock.now += hour - 1
    assert.deepEqual(await store.sweep({ ifOlderThanMs: hour }), { ...idle, skipped: true })
    const due = { ...idle, dryRun: true, trashed: [conversation.id] }
    assert.deepEqual(await store.sweep({ ifOlderThanMs: hour, dryRun: true }), due)
    clock.now += 1
    assert.deepEqual(await store.sweep({ ifOlderThanMs: hour }), { ...idle, trashed: [conversation.id] })
    assert.deepEqual(await store.sweep({ ifOlderThanMs: hour }), { ...idle, skipped: true })
    // The clock of this process is behind that of the one that swept.
    clock.now -= 1_000
    assert.deepEqual(await store.sweep({ ifOlderThanMs: hour }), { ...idle, skipped: true })
    await rejects(store.sweep({ ifOlderThanMs: -1 }), 'invalid')
  }),
  it('notes a jump of the clock once, if asked to sweep only if the last sweep is old enough', async ({
    store,
    clock,
  }) => {
    await store.sweep()
    clock.now += 3 * day
    assert.notEqual((await store.sweep({ ifOlderThanMs: hour })).clockJumped, null)
    assert.equal((await store.sweep({ ifOlderThanMs: hour })).skipped, true)
  }),
  it(
    'lets one of eight processes sweep that ask at the same moment, twenty times',
    async world => {
      const { clock } = world
      const stores = await writers(world)
      for (let round = 0; round < 20; round++) {
        clock.now += hour
        const receipts = await Promise.all(stores.map(store => store.sweep({ ifOlderThanMs: hour })))
        assert.equal(receipts.filter(receipt => !receipt.skipped).length, 1)
      }
    },
    'second handle',
  ),
]
