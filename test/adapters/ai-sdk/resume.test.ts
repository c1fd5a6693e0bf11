import type { LanguageModelV4, LanguageModelV4Content, LanguageModelV4Prompt } from '@ai-sdk/provider'
import {
  generateText,
  isStepCount,
  type ModelMessage,
  Output,
  pruneMessages,
  streamText,
  tool,
  wrapLanguageModel,
} from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { recordTo } from '../../../src/adapters/ai-sdk/record-to.ts'
import { repair } from '../../../src/context/view/view.ts'
import { pathOf } from '../../../src/core/path.ts'
import { modelOf } from '../../../src/models/wrap.ts'
import { beginTurn } from '../../../src/recorder/begin-turn.ts'
import { openStore } from '../../../src/stores/open.ts'
import { engines, freshTarget } from '../../recorder/engines.ts'
import { count, lineOf, said, setUp, turns } from './setting.ts'
import { providers } from './setting-models.ts'

const look = tool({ inputSchema: z.object({}), execute: async () => 'seen' })

describe.each(providers)('a conversation with %s', provider => {
  it('continues in another process from the stored messages, including thinking and tools (S0-29)', async () => {
    const thinking = provider === 'openai-chat' ? [] : [{ thinking: 'I should look.' }]
    const { store, server, model } = await setUp(
      { parts: [...thinking, { call: { name: 'look', input: {} } }, { call: { name: 'look', input: {} } }] },
      'Seen twice.',
      'You are welcome.',
    )
    const first = recordTo(store, 'example:ai')
    const options = {
      stopWhen: isStepCount(5),
      providerOptions: { openai: { store: false, include: ['reasoning.encrypted_content'] } },
    }
    await streamText({
      ...options,
      model: first(model(provider)),
      tools: first.tools({ look }),
      prompt: 'look',
    }).consumeStream()

    const second = recordTo(store, 'example:ai')
    const messages: ModelMessage[] = [...(await second.messages()), { role: 'user', content: 'thanks' }]
    const { text } = await generateText({
      ...options,
      model: second(model(provider)),
      tools: second.tools({ look }),
      messages,
    })
    expect(text).toBe('You are welcome.')
    expect(server.requests.map(request => request.refused)).toEqual([null, null, null])
    const place = await second.place()
    expect(place.name).toBe('main')
    expect((await said(store, place)).slice(-2)).toEqual(['user: thanks', 'assistant: You are welcome.'])
    expect(await count(store, place)).toBe(7)
  })

  it('continues with a model of skein/models', async () => {
    const { store, server, model } = await setUp(
      { parts: [{ call: { name: 'look', input: {} } }] },
      'Seen.',
      'Bye.',
    )
    const recorded = recordTo(store, 'example:ai')
    const tools = recorded.tools({ look })
    await generateText({ model: recorded(model(provider)), tools, prompt: 'look', stopWhen: isStepCount(5) })
    const place = await recorded.place()
    const path = await pathOf(store, (await store.getBranch(place)).head!)
    const messages = [
      ...repair(path),
      { role: 'user' as const, content: [{ type: 'text' as const, text: 'bye' }] },
    ]
    for await (const event of modelOf(model(provider), { retry: false }).stream({ messages }))
      if (event.type === 'answer')
        expect(lineOf({ role: 'assistant', content: event.answer.content })).toBe('assistant: Bye.')
    expect(server.requests.map(request => request.refused)).toEqual([null, null, null])
  })
})

describe('a long conversation', () => {
  it('continues from its newest turns, read with a budget, on the same branch', async () => {
    const { store, server, model } = await setUp('One.', 'Two.', 'Three.', 'Four.')
    const first = recordTo(store, 'example:ai')
    for (const prompt of ['1', '2', '3']) {
      const messages: ModelMessage[] = [...(await first.messages()), { role: 'user', content: prompt }]
      await generateText({ model: first(model()), messages })
    }
    const later = recordTo(store, 'example:ai')
    // A budget inside the newest turn: the question is read in any case.
    expect(await later.messages({ budget: { messages: 1 } })).toEqual(
      await later.messages({ budget: { messages: 2 } }),
    )
    const newest = await later.messages({ budget: { messages: 2 } })
    expect(newest).toMatchObject([{ role: 'user', content: [{ text: '3' }] }, { role: 'assistant' }])
    await generateText({ model: later(model()), messages: [...newest, { role: 'user', content: '4' }] })
    expect(server.requests.at(-1)!.messages).toHaveLength(3)
    expect((await later.place()).name).toBe('main')
    expect(await count(store, await later.place())).toBe(8)
  })
})

describe('a call without a result', () => {
  it('gets a synthetic result for the model, which is not stored', async () => {
    const { store, server, model } = await setUp('I see.')
    const { branch } = await store.findOrCreate('example:ai')
    const crashed = await beginTurn(store, branch, { words: [{ role: 'user', content: 'look' }] })
    await crashed.add([
      { role: 'assistant', content: [{ type: 'tool_call', callId: 'call_1', name: 'look', input: {} }] },
    ])
    await crashed.end('interrupted')

    const recorded = recordTo(store, 'example:ai')
    const messages: ModelMessage[] = [...(await recorded.messages()), { role: 'user', content: 'continue' }]
    await generateText({ model: recorded(model()), messages })
    expect(server.requests[0]!.messages.flatMap(({ results }) => results)).toMatchObject([{ id: 'call_1' }])
    expect(await said(store, await recorded.place())).toEqual([
      ...['user: look', 'assistant: [look {}]', 'user: continue', 'assistant: I see.'],
    ])
    expect((await recorded.place()).name).toBe('main')
  })
})

/** A model that returns these answers, one after the other. */
function answering(...answers: LanguageModelV4Content[][]) {
  const prompts: LanguageModelV4Prompt[] = []
  const model = {
    specificationVersion: 'v4',
    provider: 'test',
    modelId: 'test',
    supportedUrls: {},
    async doGenerate({ prompt }: { prompt: LanguageModelV4Prompt }) {
      const content = answers[prompts.length] ?? [{ type: 'text', text: 'ok' }]
      prompts.push(prompt)
      const unified = content.some(part => part.type === 'tool-call' && !part.providerExecuted)
        ? 'tool-calls'
        : 'stop'
      const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
      return { content, finishReason: { unified, raw: unified }, usage, warnings: [] }
    },
  } as unknown as LanguageModelV4
  return { model, prompts }
}

describe('recordTo', () => {
  it('stores structured output as its text', async () => {
    const { store, model } = await setUp('{"name":"Otter"}')
    const recorded = recordTo(store, 'example:ai')
    const output = Output.object({ schema: z.object({ name: z.string() }) })
    const result = await generateText({ model: recorded(model()), prompt: 'a name', output })
    expect(result.output).toEqual({ name: 'Otter' })
    expect(await said(store, await recorded.place())).toEqual(['user: a name', 'assistant: {"name":"Otter"}'])
  })

  it('stores provider tools in the answer, and ends the exchange with it', async () => {
    const { store } = await setUp()
    const { model } = answering([
      {
        type: 'tool-call',
        toolCallId: '1',
        toolName: 'web',
        input: '{"q":"x"}',
        providerExecuted: true,
        dynamic: true,
      },
      { type: 'tool-result', toolCallId: '1', toolName: 'web', result: { hits: 3 }, dynamic: true },
      { type: 'source', sourceType: 'url', id: 's', url: 'https://example.org' },
      { type: 'text', text: 'Three hits.' },
    ])
    const recorded = recordTo(store, 'example:ai')
    const messages: ModelMessage[] = [{ role: 'user', content: 'search' }]
    const first = await generateText({ model: recorded(model), messages })
    const place = await recorded.place()
    const all = ['user: search', 'assistant: <provider_call> <provider_result> <source> Three hits.']
    expect(await said(store, place)).toEqual(all)
    expect(await turns(store, place)).toEqual(['complete main 0-1'])
    messages.push(...first.responseMessages, { role: 'user', content: 'more' })
    await generateText({ model: recorded(model), messages })
    expect(await said(store, place)).toEqual([...all, 'user: more', 'assistant: ok'])
  })

  it('records a step with changed messages on a sibling branch', async () => {
    const { store } = await setUp()
    const { model, prompts } = answering([
      { type: 'tool-call', toolCallId: '1', toolName: 'look', input: '{}' },
    ])
    const recorded = recordTo(store, 'example:ai')
    await generateText({
      model: recorded(model),
      tools: recorded.tools({ look }),
      messages: [{ role: 'user', content: 'look' }],
      stopWhen: isStepCount(2),
      prepareStep: ({ stepNumber, messages }) =>
        stepNumber === 0 ? {} : { messages: [{ role: 'user', content: 'look!' }, ...messages.slice(1)] },
    })
    expect(prompts[1]).toHaveLength(3)
    const place = await recorded.place()
    expect(await said(store, place)).toEqual([
      'user: look!',
      'assistant: [look {}]',
      'tool_result: look → seen',
      'assistant: ok',
    ])
    expect(await said(store, { ...place, name: 'main' })).toEqual([
      'user: look',
      'assistant: [look {}]',
      'tool_result: look → seen',
    ])
  })

  it('does not take pruned reasoning for an edit', async () => {
    const { store } = await setUp()
    const { model } = answering([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'yes' },
    ])
    const recorded = recordTo(store, 'example:ai')
    const messages: ModelMessage[] = [{ role: 'user', content: 'a' }]
    const { responseMessages } = await generateText({ model: recorded(model), messages })
    messages.push(...responseMessages, { role: 'user', content: 'b' })
    await generateText({ model: recorded(model), messages: pruneMessages({ messages, reasoning: 'all' }) })
    expect((await recorded.place()).name).toBe('main')
  })

  it('stores images as images', async () => {
    const { store, server, model } = await setUp('A cat.', 'Yes.')
    const recorded = recordTo(store, 'example:ai')
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    )
    const messages: ModelMessage[] = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'what?' },
          { type: 'file', data: new Uint8Array(png), mediaType: 'image/png' },
        ],
      },
    ]
    await generateText({ model: recorded(model()), messages })
    const next = recordTo(store, 'example:ai')
    await generateText({
      model: next(model()),
      messages: [...(await next.messages()), { role: 'user', content: 'sure?' }],
    })
    expect(server.requests[1]!.messages.flatMap(({ media }) => media)).toHaveLength(1)
    expect(await count(store, await next.place())).toBe(4)
  })

  it('works as middleware of wrapLanguageModel', async () => {
    const { store, model } = await setUp('hello')
    const recorded = recordTo(store, 'example:ai')
    const wrapped = wrapLanguageModel({ model: model(), middleware: recorded.middleware })
    await generateText({ model: wrapped, prompt: 'hi' })
    expect(await said(store, await recorded.place())).toEqual(['user: hi', 'assistant: hello'])
  })

  it('accepts a branch instead of a key', async () => {
    const { store, model } = await setUp('hello')
    const { conversation, branch } = await store.create({ title: 'mine' })
    const recorded = recordTo(store, { conversationId: conversation.id, name: branch.name })
    await generateText({ model: recorded(model()), prompt: 'hi' })
    expect(await said(store, branch)).toEqual(['user: hi', 'assistant: hello'])
  })

  it('follows a key that has moved to another conversation', async () => {
    const { store, model } = await setUp('hello')
    const recorded = recordTo(store, 'example:ai')
    await generateText({ model: recorded(model()), prompt: 'hi' })
    const before = await recorded.place()
    await store.trash(before.conversationId)
    await generateText({ model: recorded(model()), prompt: 'hi' })
    const after = await recorded.place()
    expect(after.conversationId).not.toBe(before.conversationId)
    expect(await said(store, after)).toEqual(['user: hi', 'assistant: hello'])

    await store.reset(after)
    await generateText({ model: recorded(model()), prompt: 'again' })
    expect(await recorded.place()).toEqual(after)
    expect(await said(store, after)).toEqual(['user: again', 'assistant: hello'])
  })

  it('stores nothing before the exchange has ended, in the mode at_once (S0-36, S0-37)', async () => {
    const { store, model } = await setUp({ parts: [{ call: { name: 'look', input: {} } }] }, 'Seen.')
    const recorded = recordTo(store, 'example:ai', { mode: 'at_once' })
    const before: number[] = []
    const counting = tool({
      inputSchema: z.object({}),
      execute: async () => {
        before.push(await count(store, await recorded.place()))
        return 'seen'
      },
    })
    await generateText({
      model: recorded(model()),
      tools: recorded.tools({ look: counting }),
      prompt: 'look',
      stopWhen: isStepCount(5),
    })
    expect(before).toEqual([0])
    expect(await said(store, await recorded.place())).toEqual([
      ...['user: look', 'assistant: [look {}]', 'tool_result: look → seen', 'assistant: Seen.'],
    ])
  })

  it('recognizes results that the conversation does not store in full', async () => {
    const { store, model } = await setUp({ parts: [{ call: { name: 'look', input: {} } }] }, 'Seen.', 'Bye.')
    const conversation = { toolResults: 'metadata' } as const
    const messages: ModelMessage[] = [{ role: 'user', content: 'look' }]
    const first = recordTo(store, 'example:ai', { conversation })
    const options = { tools: first.tools({ look }), stopWhen: isStepCount(5), messages }
    messages.push(...(await generateText({ ...options, model: first(model()) })).responseMessages)
    expect((await said(store, await first.place()))[2]).toContain('not kept')
    messages.push({ role: 'user', content: 'bye' })
    const { conversationId } = await first.place()
    // Like another process: with only the caller's own messages.
    const later = recordTo(Object.create(store) as typeof store, { conversationId, name: 'main' })
    await generateText({ ...options, model: later(model()) })
    expect((await later.place()).name).toBe('main')
    expect(await count(store, await later.place())).toBe(6)
  })
})

describe.each(engines)('two processes on %s', engine => {
  it('record one conversation in turn, and an edit forks', async () => {
    const { server, model } = await setUp({ parts: [{ call: { name: 'look', input: {} } }] }, 'Seen.', 'Bye.')
    const target = await freshTarget(engine)
    const [one, two] = await Promise.all([openStore(target), openStore(target)])
    const first = recordTo(one, 'example:ai')
    const options = { tools: first.tools({ look }), stopWhen: isStepCount(5) }
    await generateText({ ...options, model: first(model()), prompt: 'look' })
    const second = recordTo(two, 'example:ai')
    const messages: ModelMessage[] = [...(await second.messages()), { role: 'user', content: 'bye' }]
    await generateText({ ...options, model: second(model()), messages })
    expect((await second.place()).name).toBe('main')
    expect(await count(one, await first.place())).toBe(6)

    await generateText({ model: first(model()), prompt: 'something else' })
    expect(await said(two, await first.place())).toEqual(['user: something else', 'assistant: Bye.'])
    expect(server.requests.map(request => request.refused)).toEqual([null, null, null, null])
    await Promise.all([one.close(), two.close()])
  })
})
