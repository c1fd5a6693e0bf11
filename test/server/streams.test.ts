import { expect, it, onTestFinished, vi } from 'vitest'
import { streamed } from '../../src/server/http/stream.ts'

it('a streamed answer that never waits gives other requests their turns', async () => {
  async function* pieces() {
    for (let i = 0; i < 50; i++) yield 'x'.repeat(20_000)
  }
  // Each look at the clock is 11 ms later.
  let now = 0
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => (now += 11))
  onTestFinished(() => clock.mockRestore())
  let turns = 0
  let isRunning = true
  const count = () => {
    turns++
    if (isRunning) setImmediate(count)
  }
  setImmediate(count)
  const answer = await streamed(pieces(), { headers: {}, cutOff: () => null })
  expect((await answer.text()).length).toBe(1_000_000)
  isRunning = false
  expect(turns).toBeGreaterThanOrEqual(45)
})
