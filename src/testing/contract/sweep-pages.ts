import { strict as assert } from 'node:assert'
import type { ConversationId } from '../../core/ids.ts'
import type { SweepReceipt } from '../../core/removal.ts'
import { casesOf, idleSweep, rejects } from './build.ts'
import type { ContractCase } from './contract-case.ts'

const it = casesOf('sweep pages')
const hour = 3_600_000
const day = 24 * hour

export const sweepPageCases: readonly ContractCase[] = [
  it('names what it would do in pages, each conversation once', async ({ store, clock }) => {
    const made: ConversationId[] = []
    const work = (i: number) => store.create({ task: `task-${i}`, expiresAt: new Date(clock.now + day) })
    for (let i = 0; i < 5; i++) made.push((await work(i)).conversation.id)
    clock.now += day + 1
    await store.sweep()
    clock.now += hour
    await store.sweep()
    assert.deepEqual(await store.sweep({ dryRun: true, limit: 5 }), { ...idleSweep, dryRun: true })
    for (let i = 5; i < 12; i++) made.push((await work(i)).conversation.id)
    clock.now += 7 * day
    const options = { dryRun: true, trustClock: true } as const
    const whole = await store.sweep(options)
    assert.deepEqual([whole.trashed.length, whole.purged.length, whole.next], [7, 5, null])
    for (const limit of [1, 2, 5, 7, 12, 100]) {
      const named: ConversationId[] = []
      for (let after: string | null | undefined; after !== null; ) {
        const page: SweepReceipt = await store.sweep({ ...options, limit, ...(after && { after }) })
        assert.ok(page.trashed.length + page.purged.length <= limit)
        named.push(...page.trashed, ...page.purged)
        after = page.next
      }
      assert.deepEqual(named, [...whole.trashed, ...whole.purged])
    }
    assert.deepEqual([...whole.trashed, ...whole.purged].sort(), made.sort())
    await rejects(store.sweep({ limit: 5 }), 'invalid')
    await rejects(store.sweep({ dryRun: true, limit: 0 }), 'invalid')
    await rejects(store.sweep({ ...options, after: 'WyJ4IiwxLCIxIl0' }), 'invalid')
  }),
]
