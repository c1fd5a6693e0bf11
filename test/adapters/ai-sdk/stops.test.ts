import { generateText, isStepCount, type ModelMessage, streamText, tool } from 'ai'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { recordTo } from '../../../src/adapters/ai-sdk/record-to.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { count, manualTimeouts, said, setUp, turns } from './setting.ts'

const look = tool({ inputSchema: z.object({}), execute: async () => 'seen' })
const asks = { parts: [{ call: { name: 'look', input: {} } }] }
const asked = ['user: look', 'assistant: [look {}]']

async function stopped(wrapped: boolean) {
  const setting = await setUp(asks, 'Done.')
  const { source, timeouts, runOut } = manualTimeouts()
  const recorded = recordTo(setting.store, 'example:ai', { source, timeouts })
  const tools = wrapped ? recorded.tools({ look }) : { look }
  const messages: ModelMessage[] = [{ role: 'user', content: 'look' }]
  const model = recorded(setting.model())
  const ask = async () => {
    const { responseMessages } = await generateText({ model, tools, messages, stopWhen: isStepCount(1) })
    messages.push(...responseMessages)
  }
  await ask()
  const place = await recorded.place()
  const state = async () => [...(await said(setting.store, place)), ...(await turns(setting.store, place))]
  const over = (kind: Parameters<typeof runOut>[0], status: string) =>
    vi.waitFor(async () => {
      runOut(kind)
      expect((await turns(setting.store, place))[0]).toContain(status)
    })
  return { ...setting, recorded, messages, ask, state, runOut, over, place, tools, model }
}

describe('recordTo and a caller that stops after one step (settled 14)', () => {
  it('stores the results of wrapped tools, and ends the turn when no call follows', async () => {
    const { state, over, ask } = await stopped(true)
    const results = [...asked, 'tool_result: look → seen']
    expect(await state()).toEqual([...results, 'open main 0-2'])
    await over('answeredMs', 'complete')
    // A later call begins a new turn.
    await ask()
    expect(await state()).toEqual([...results, 'assistant: Done.', 'complete main 0-2', 'complete main 3-3'])
  })

  it('continues the same turn if the next call comes soon', async () => {
    const { state, ask, runOut } = await stopped(true)
    await ask()
    const all = [...asked, 'tool_result: look → seen', 'assistant: Done.']
    expect(await state()).toEqual([...all, 'complete main 0-3'])
    expect(runOut('answeredMs')).toBe(0)
  })

  it('stores results of unwrapped tools with the call that brings them', async () => {
    const { state, over, ask } = await stopped(false)
    expect(await state()).toEqual([...asked, 'open main 0-1'])
    await over('callsMs', 'complete')
    await ask()
    const all = [...asked, 'tool_result: look → seen', 'assistant: Done.']
    expect(await state()).toEqual([...all, 'complete main 0-1', 'complete main 2-3'])
  })

  it('ends the turn with end(), before the store is closed', async () => {
    const { recorded, state } = await stopped(true)
    expect(await recorded.end()).toMatchObject([{ status: 'complete', saved: true, unsaved: [] }])
    expect(await state()).toContain('complete main 0-2')
    expect(await recorded.end()).toEqual([])
  })

  it('ends the turn with the next question', async () => {
    const { state, ask, messages, store, place } = await stopped(true)
    messages.push({ role: 'user', content: 'and?' })
    await ask()
    expect(await state()).toEqual([
      ...asked,
      ...['tool_result: look → seen', 'user: and?', 'assistant: Done.'],
      ...['complete main 0-2', 'complete main 3-4'],
    ])
    expect(await count(store, place)).toBe(5)
  })

  it('does not delay another exchange', async () => {
    const { recorded, model, state } = await stopped(false)
    const { text } = await generateText({ model, prompt: 'something else' })
    expect(text).toBe('Done.')
    expect((await recorded.place()).name).toBe('main-2')
    expect(await state()).toContain('open main 0-1')
  })
})

describe('recorded tools', () => {
  it('end the exchange if the caller provides their results, which begin a new turn', async () => {
    const { store, model } = await setUp(asks, 'Done.')
    const recorded = recordTo(store, 'example:ai')
    const tools = recorded.tools({ look: tool({ inputSchema: z.object({}), outputSchema: z.unknown() }) })
    const messages: ModelMessage[] = [{ role: 'user', content: 'look' }]
    const first = await generateText({ model: recorded(model()), tools, messages })
    const [call] = first.toolCalls
    messages.push(...first.responseMessages, {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: call!.toolCallId,
          toolName: 'look',
          output: { type: 'json', value: { found: 1 } },
        },
      ],
    })
    await generateText({ model: recorded(model()), tools, messages })
    const place = await recorded.place()
    expect(await said(store, place)).toEqual([
      ...asked,
      'tool_result: look → {"found":1}',
      'assistant: Done.',
    ])
    expect(await turns(store, place)).toEqual(['complete main 0-1', 'complete main 2-3'])
  })

  it('may end before the answer that calls them, if the caller does not wait for its end', async () => {
    const { store, model } = await setUp({
      parts: [{ call: { name: 'look', input: {} } }, { text: 'I look.' }],
    })
    const recorded = recordTo(store, 'example:ai')
    const execute = recorded.tools({ look }).look.execute as (
      input: unknown,
      options: { toolCallId: string },
    ) => Promise<string>
    const { stream } = await recorded(model()).doStream({
      prompt: [{ role: 'user', content: [{ type: 'text', text: 'look' }] }],
    })
    for await (const part of stream) {
      if (part.type !== 'tool-call') continue
      expect(await execute({}, { toolCallId: part.toolCallId })).toBe('seen')
      expect(await count(store, await recorded.place())).toBe(1)
    }
    expect(await said(store, await recorded.place())).toEqual([
      ...['user: look', 'assistant: [look {}] I look.', 'tool_result: look → seen'],
    ])
    await recorded.end()
  })

  it('are traced, and their start is stored before they run (R27)', async () => {
    const { store, model } = await setUp(asks, 'Done.')
    const recorded = recordTo(store, 'example:ai')
    let before: readonly string[] = []
    const tools = recorded.tools({
      look: tool({
        inputSchema: z.object({}),
        execute: async () => {
          const { conversationId } = await recorded.place()
          before = (await collectPages(page => store.listEvents(conversationId, page))).map(
            ({ type }) => type,
          )
          return 'seen'
        },
      }),
    })
    await generateText({ model: recorded(model()), tools, prompt: 'look', stopWhen: isStepCount(2) })
    expect(before).toContain('tool_started')
    const { conversationId } = await recorded.place()
    const events = (await collectPages(page => store.listEvents(conversationId, page))).map(
      ({ type }) => type,
    )
    expect(events.filter(type => type.startsWith('tool'))).toEqual(['tool_started', 'tool_ended'])
  })

  it.each([
    [
      'a generator',
      async function* () {
        yield 'half'
        yield 'whole'
      },
    ],
    [
      'a function that gives a generator',
      () =>
        (async function* () {
          yield 'half'
          yield 'whole'
        })(),
    ],
    ['a plain function', () => 'whole'],
    ['a function that gives a promise', () => Promise.resolve('whole')],
  ])('may be %s', async (_, execute) => {
    const { store, model } = await setUp(asks, 'Done.')
    const recorded = recordTo(store, 'example:ai')
    const tools = recorded.tools({
      look: tool({ inputSchema: z.object({}), execute: execute as unknown as () => Promise<string> }),
    })
    const result = streamText({ model: recorded(model()), tools, prompt: 'look', stopWhen: isStepCount(2) })
    const seen: unknown[] = []
    for await (const part of result.stream) if (part.type === 'tool-result') seen.push(part.output)
    expect(seen.at(-1)).toBe('whole')
    expect(await said(store, await recorded.place())).toEqual([
      ...asked,
      ...['tool_result: look → whole', 'assistant: Done.'],
    ])
  })

  it.each([
    [
      'at once',
      () => {
        throw new Error('broken')
      },
    ],
    [
      'later',
      async () => {
        throw new Error('broken')
      },
    ],
    [
      'in the middle',
      async function* () {
        yield 'half'
        throw new Error('broken')
      },
    ],
  ])('may fail %s', async (_, execute) => {
    const { store, model } = await setUp(asks, 'Sorry.')
    const recorded = recordTo(store, 'example:ai')
    const tools = recorded.tools({
      look: tool({ inputSchema: z.object({}), execute: execute as unknown as () => Promise<string> }),
    })
    await generateText({ model: recorded(model()), tools, prompt: 'look', stopWhen: isStepCount(2) })
    const place = await recorded.place()
    expect(await said(store, place)).toEqual([
      ...asked,
      'tool_result: look ✗ Error: broken',
      'assistant: Sorry.',
    ])
    expect(await turns(store, place)).toEqual(['complete main 0-3'])
  })

  it('may convert the output for the model, and defaults of a schema are not an edit', async () => {
    const { store, model } = await setUp(asks, 'Done.')
    const recorded = recordTo(store, 'example:ai')
    const tools = recorded.tools({
      look: tool({
        inputSchema: z.object({ depth: z.number().default(3) }),
        execute: async ({ depth }) => ({ depth, secret: new Date(0) }),
        toModelOutput: ({ output }) => ({ type: 'text', value: `depth ${output.depth}` }),
      }),
    })
    await generateText({ model: recorded(model()), tools, prompt: 'look', stopWhen: isStepCount(2) })
    const place = await recorded.place()
    expect(await said(store, place)).toEqual([...asked, 'tool_result: look → depth 3', 'assistant: Done.'])
    expect(place.name).toBe('main')
    expect(await count(store, place)).toBe(4)
  })

  it('that need approval run and are stored in the call that brings it, also in another process', async () => {
    const { store, model } = await setUp(asks, 'Done.')
    const tools = {
      look: tool({ inputSchema: z.object({}), execute: async () => 'seen', needsApproval: true }),
    }
    const messages: ModelMessage[] = [{ role: 'user', content: 'look' }]
    const first = recordTo(store, 'example:ai')
    const asking = await generateText({ model: first(model()), tools: first.tools(tools), messages })
    await first.end()
    const request = asking.content.find(part => part.type === 'tool-approval-request')
    messages.push(...asking.responseMessages, {
      role: 'tool',
      content: [{ type: 'tool-approval-response', approvalId: request!.approvalId, approved: true }],
    })
    const second = recordTo(store, 'example:ai')
    await generateText({ model: second(model()), tools: second.tools(tools), messages })
    const place = await second.place()
    expect(await said(store, place)).toEqual([...asked, 'tool_result: look → seen', 'assistant: Done.'])
    expect(await turns(store, place)).toEqual(['complete main 0-3'])
  })
})
