import { expect, it } from 'vitest'
import { lateStore } from '../../../src/cli/acp/late-store.ts'
import { UnavailableError } from '../../../src/core/errors.ts'
import { leaseMs } from '../../../src/core/turn.ts'
import { openStore, type Store } from '../../../src/index.ts'

const never = (error: unknown) => {
  throw error
}

it('has every member of a store as what it is: a method, or the same value', async () => {
  await using store = await openStore(':memory:', { leaseMs: 12_000 })
  const late: Store = lateStore(async () => store, never)
  await late.listConversations()
  for (const [name, member] of Object.entries(store)) {
    const same: unknown = late[name as keyof Store]
    if (typeof member === 'function') expect([name, typeof same]).toEqual([name, 'function'])
    else expect([name, same]).toEqual([name, member])
  }
})

it('has the usual lease while the store is away, so that a turn does not renew it all the time', async () => {
  const away = new UnavailableError('away')
  const late: Store = lateStore(async () => Promise.reject(away), never)
  await expect(late.listConversations()).rejects.toBe(away)
  expect(late.leaseMs).toBe(leaseMs)
})
