import { describe, expect, it } from 'vitest'
import { fit } from '../../../src/context/fit/fit.ts'
import { shrinkSteps } from '../../../src/context/fit/window.ts'
import { readContext } from '../../../src/context/read-context.ts'
import { ContextLengthError } from '../../../src/core/errors.ts'
import { type NewMessage, textOf } from '../../../src/core/message.ts'
import { openStore } from '../../../src/stores/open.ts'

const words = (n: number) => `m${n} `.padEnd(400, '.')
const window = { limit: 10_000, keepRecent: 4 }

async function stored(messages: readonly NewMessage[]) {
  const store = await openStore(':memory:')
  const { branch } = await store.create()
  const { head } = await store.append(branch, null, messages)
  const read = await readContext(store, head, window, { system: 'Be kind.' })
  await store.close()
  return read
}

describe('a context that a provider refuses as too long', () => {
  it('shrinks to half, a quarter, and the last exchange', async () => {
    const talk = Array.from({ length: 100 }, (_, i): NewMessage => {
      return { role: i % 2 === 0 ? 'user' : 'assistant', content: words(i) }
    })
    const { messages, missing } = await stored([...talk, { role: 'user', content: 'And now?' }])
    const contexts = shrinkSteps(window).map(step =>
      fit(messages, step, { system: 'Be kind.', older: missing }),
    )
    expect(contexts.map(({ tokens }) => tokens.budget)).toEqual([8_000, 4_000, 2_000, 1_000])
    for (const { tokens } of contexts) expect(tokens.total).toBeLessThanOrEqual(tokens.budget)
    const counts = contexts.map(context => context.messages.length)
    expect(counts).toEqual([...counts].sort((a, b) => b - a))
    expect(new Set(counts).size).toBe(4)
    expect(contexts.at(-1)!.messages.map(textOf)).toEqual([
      'Be kind.',
      '[Note: 100 older messages truncated to stay within token limit]',
      'And now?',
    ])
  })

  it('keeps the question and the last step of a long turn in every attempt', async () => {
    const steps = Array.from({ length: 60 }, (_, i): NewMessage[] => [
      { role: 'assistant', content: [{ type: 'tool_call', callId: `c${i}`, name: 'bash', input: {} }] },
      { role: 'tool_result', content: [{ type: 'tool_result', callId: `c${i}`, output: words(i) }] },
    ])
    const { messages } = await stored([{ role: 'user', content: 'Build it' }, ...steps.flat()])
    const last = fit(messages, shrinkSteps(window).at(-1)!).messages.filter(({ role }) => role !== 'system')
    expect(last.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool_result'])
    expect(last[2]!.content[0]).toMatchObject({ callId: 'c59' })
  })

  it('is a clear error if nothing more can be left out', async () => {
    const { messages } = await stored([{ role: 'user', content: 'Why?' }])
    const [, , , last] = shrinkSteps({ limit: 8, threshold: 1 })
    expect(() => fit(messages, last!, { system: 'Be kind.' })).toThrow(ContextLengthError)
  })
})
