import { stat } from 'node:fs/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { openStore } from '../../../src/stores/open.ts'
import { say } from '../../../src/testing/contract/build.ts'

it('a store reads and writes while the test of an application has replaced all timers', async () => {
  await using store = await openStore(':memory:')
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { branch } = await store.create()
  let { head } = await store.append(branch, null, [say('heron one')])
  await stat('.')
  ;({ head } = await store.append(branch, head, [say('heron two')]))
  await Promise.all(Array.from({ length: 200 }, () => store.create()))
  for (let i = 0; i < 10; i++) {
    vi.setSystemTime(Date.now() + 60_000)
    const tails = await Promise.all(Array.from({ length: 10 }, () => store.tail(head!, { messages: 2 })))
    expect(tails.every(({ messages }) => messages.length === 2)).toBe(true)
    expect((await store.search('heron')).items).toHaveLength(2)
  }
  expect(await store.countConversations()).toBe(201)
})
