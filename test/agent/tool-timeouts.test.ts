import { expect, it } from 'vitest'
import { z } from 'zod'
import { tool } from '../../src/agent/tools/tool.ts'
import { said, world } from './build.ts'

const call = (name: string) => ({ name, id: 'c1', input: {} })
const input = z.object({})

it('ends a call by its signal when its time is up, and tells the model', async () => {
  let reason: unknown
  const slow = tool({
    description: '',
    input,
    timeoutMs: 30,
    run: (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reason = signal.reason
          reject(signal.reason)
        })
      }),
  })
  await using here = await world([{ calls: [call('slow')] }, 'too slow'], { tools: { slow } })
  expect(await here.agent.ask('k', 'go')).toMatchObject({ status: 'complete', text: 'too slow' })
  expect(reason).toMatchObject({ name: 'TimeoutError' })
  expect((await said(here.store, 'k'))[2]).toContain('took longer than 0.03 s and was stopped')
})

it('does not wait for a tool that ignores its signal, and does not limit a tool that is fast', async () => {
  const deaf = tool({ description: '', input, timeoutMs: 30, run: () => new Promise(() => undefined) })
  const fast = tool({ description: '', input, timeoutMs: 60_000, run: () => 'in time' })
  await using here = await world([{ calls: [call('deaf')] }, { calls: [call('fast')] }, 'done'], {
    tools: { deaf, fast },
  })
  expect((await here.agent.ask('k', 'go')).text).toBe('done')
  const lines = await said(here.store, 'k')
  expect(lines[2]).toContain('was stopped')
  expect(lines[4]).toBe('tool_result: "in time"')
  expect(() => tool({ description: '', input, timeoutMs: 0, run: () => 1 })).toThrow('timeoutMs')
})
