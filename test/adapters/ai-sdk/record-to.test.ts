import { generateText, isStepCount, type ModelMessage, streamText, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { recordTo } from '../../../src/adapters/ai-sdk/record-to.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { count, said, setUp, turns } from './setting.ts'
import { providers } from './setting-models.ts'

const weather = tool({
  description: 'The weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `sunny in ${city}`,
})

const twoCalls = {
  parts: [
    { text: 'I look.' },
    { call: { name: 'weather', input: { city: 'Rome' } } },
    { call: { name: 'weather', input: { city: 'Oslo' } } },
  ],
}

describe.each(providers)('with %s', provider => {
  for (const way of ['generate', 'stream'] as const) {
    const ask = async (options: Parameters<typeof generateText>[0]) => {
      if (way === 'generate') {
        const { text, responseMessages } = await generateText(options)
        return { text, responseMessages }
      }
      const result = streamText(options as Parameters<typeof streamText>[0])
      const text = await result.text
      return { text, responseMessages: await result.responseMessages }
    }

    it(`stores a question and its answer (${way}) (S1-35, S3-70, S3-71)`, async () => {
      const { store, model } = await setUp('hello')
      const recorded = recordTo(store, 'example:ai')
      const { text } = await ask({ model: recorded(model(provider)), prompt: 'hi', instructions: 'be kind' })
      expect(text).toBe('hello')
      const place = await recorded.place()
      expect(await said(store, place)).toEqual(['user: hi', 'assistant: hello'])
      expect(await turns(store, place)).toEqual(['complete main 0-1'])
      const [turn] = await collectPages(page => store.listTurns(place.conversationId, page))
      expect(turn?.usage.output).toBeGreaterThan(0)
      expect(turn?.model).toMatch(/\/(gpt-5|llama|claude-sonnet-4-5)$/)
      const conversation = await store.getConversation(place.conversationId)
      expect(conversation.prompt?.text).toBe('be kind')
      expect(turn?.promptHash).toBe(conversation.prompt?.hash)
      expect((await store.findByKey('example:ai'))?.branch.name).toBe('main')
    })

    it(`stores steps with parallel tools as one turn, and nothing twice (${way}) (S3-73)`, async () => {
      const { store, server, model } = await setUp(twoCalls, 'Sunny everywhere.', 'Bye.')
      const recorded = recordTo(store, 'example:ai')
      const messages: ModelMessage[] = [{ role: 'user', content: 'weather?' }]
      const common = {
        model: recorded(model(provider)),
        tools: recorded.tools({ weather }),
        stopWhen: isStepCount(5),
      }
      const first = await ask({ ...common, messages })
      const place = await recorded.place()
      const afterFirst = [
        'user: weather?',
        'assistant: I look. [weather {"city":"Rome"}] [weather {"city":"Oslo"}]',
        'tool_result: weather → sunny in Rome',
        'tool_result: weather → sunny in Oslo',
        'assistant: Sunny everywhere.',
      ]
      expect(await said(store, place)).toEqual(afterFirst)
      expect(await turns(store, place)).toEqual(['complete main 0-4'])

      // The caller keeps its own messages and continues with them.
      messages.push(...first.responseMessages, { role: 'user', content: 'bye' })
      await ask({ ...common, messages })
      expect(await said(store, place)).toEqual([...afterFirst, 'user: bye', 'assistant: Bye.'])
      expect(await turns(store, place)).toEqual(['complete main 0-4', 'complete main 5-6'])
      expect(await count(store, place)).toBe(7)
      expect(server.requests.map(request => request.refused)).toEqual([null, null, null])
    })

    it(`stores results of unwrapped tools with the next call (${way})`, async () => {
      const { store, model } = await setUp(twoCalls, 'Sunny.')
      const recorded = recordTo(store, 'example:ai')
      await ask({
        model: recorded(model(provider)),
        tools: { weather },
        stopWhen: isStepCount(5),
        prompt: 'weather?',
      })
      const place = await recorded.place()
      expect(await said(store, place)).toEqual([
        'user: weather?',
        'assistant: I look. [weather {"city":"Rome"}] [weather {"city":"Oslo"}]',
        'tool_result: weather → sunny in Rome weather → sunny in Oslo',
        'assistant: Sunny.',
      ])
      expect(await turns(store, place)).toEqual(['complete main 0-3'])
    })
  }
})
