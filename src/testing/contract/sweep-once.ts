import { strict as assert } from 'node:assert'
import type { ConversationId } from '../../core/ids.ts'
import { casesOf, idleSweep, rejects, writers } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('sweep')
const hour = 3_600_000
const day = 24 * hour

/** A sweep that is skipped if another process has swept a short time ago. */
export const sweepOnceCases: readonly ContractCase[] = [
  it('sweeps only if the last sweep is old enough, if asked', async world => {
    const { store, clock } = world
    const { conversation } = await store.create({
      task: 'task-1',
      ttlMs: day,
      expiresAt: new Date(clock.now + day),
    })
    assert.deepEqual(await store.sweep({ ifOlderThanMs: hour }), idleSweep)
    clock.now += day + 1 - hour
    assert.deepEqual(await store.sweep(), idleSweep)
    clock.now += hour - 1
    assert.deepEqual(await store.sweep({ ifOlderThanMs: hour }), { ...idleSweep, skipped: true })
    const due = { ...idleSweep, dryRun: true, trashed: [conversation.id] }
    assert.deepEqual(await store.sweep({ ifOlderThanMs: hour, dryRun: true }), due)
    clock.now += 1
    assert.deepEqual(await store.sweep({ ifOlderThanMs: hour }), { ...idleSweep, trashed: [conversation.id] })
    assert.deepEqual(await store.sweep({ ifOlderThanMs: hour }), { ...idleSweep, skipped: true })
    // The clock of this process is behind that of the one that swept.
    clock.now -= 1_000
    assert.deepEqual(await store.sweep({ ifOlderThanMs: hour }), { ...idleSweep, skipped: true })
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
  it('passes each expired conversation on before it is moved to the trash', async ({ store, clock }) => {
    const expiry = { ttlMs: day, expiresAt: new Date(clock.now + day) }
    const made = await Promise.all(['a', 'b'].map(task => store.create({ task, ...expiry })))
    const [a, b] = made.map(({ conversation }) => conversation.id) as [ConversationId, ConversationId]
    await store.create({ task: 'later', ttlMs: 3 * day, expiresAt: new Date(clock.now + 3 * day) })
    clock.now += day + 1
    const passed: ConversationId[] = []
    const isInTrash: boolean[] = []
    const beforeTrash = async (id: ConversationId) => {
      passed.push(id)
      isInTrash.push((await store.getConversation(id)).trashedAt !== null)
    }
    const dry = await store.sweep({ dryRun: true, beforeTrash, trustClock: true })
    assert.deepEqual([dry.trashed.toSorted(), passed], [[a, b].toSorted(), []])
    const { trashed } = await store.sweep({ beforeTrash, trustClock: true })
    assert.deepEqual([trashed.toSorted(), passed.toSorted()], [[a, b].toSorted(), [a, b].toSorted()])
    assert.deepEqual(isInTrash, [false, false])
    assert.deepEqual(await store.sweep({ beforeTrash }), idleSweep)
    assert.equal(passed.length, 2)
  }),
  it('keeps an expired conversation that changes or whose archive fails meanwhile', async ({
    store,
    clock,
  }) => {
    const expiresAt = new Date(clock.now + day)
    const { conversation } = await store.create({ task: 'a', expiresAt })
    clock.now += day + 1
    const failing = { trustClock: true, beforeTrash: () => Promise.reject(new Error('the disk is full')) }
    await assert.rejects(store.sweep(failing), /the disk is full/)
    const seen: (string | null)[] = []
    const beforeTrash = async (id: ConversationId) => {
      const { title } = await store.getConversation(id)
      seen.push(title)
      if (title === null) await store.updateConversation(id, { title: 'Changed' })
    }
    assert.deepEqual((await store.sweep({ beforeTrash, trustClock: true })).trashed, [])
    assert.deepEqual((await store.sweep({ beforeTrash })).trashed, [conversation.id])
    assert.deepEqual(seen, [null, 'Changed'])
  }),
]
