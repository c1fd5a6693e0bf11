import { expect, it, onTestFinished, vi } from 'vitest'
import { openStore } from '../../../src/stores/open.ts'
import { say } from '../../../src/testing/contract/build.ts'

it('reads that wait for a turn of the event loop are finished before the store closes', async () => {
  const store = await openStore(':memory:')
  const { branch } = await store.create()
  const { head } = await store.append(branch, null, [say('heron')])
  // Each look at the clock is 11 ms later, so that each read but the first one waits.
  let now = 0
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => (now += 11))
  onTestFinished(() => clock.mockRestore())
  const tails = Array.from({ length: 50 }, () => store.tail(head, { messages: 1 }))
  await store.close()
  expect((await Promise.all(tails)).every(({ messages }) => messages.length === 1)).toBe(true)
})
