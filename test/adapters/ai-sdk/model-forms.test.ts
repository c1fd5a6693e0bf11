import type { LanguageModelV4 } from '@ai-sdk/provider'
import { generateText, isStepCount, streamText, tool } from 'ai'
import { createOpenAI as createOpenAIv2 } from 'ai-openai-v2'
import { createOpenAI as createOpenAIv3 } from 'ai-openai-v3'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { recordTo } from '../../../src/adapters/ai-sdk/record-to.ts'
import type { AnyLanguageModel } from '../../../src/models/language-model.ts'
import { said, setUp } from './setting.ts'

const look = tool({ inputSchema: z.object({ at: z.string() }), execute: ({ at }) => `seen ${at}` })
const call = { parts: [{ call: { name: 'look', input: { at: 'x' } } }] }

describe('recordTo', () => {
  for (const [version, create] of Object.entries({ v2: createOpenAIv2, v3: createOpenAIv3 })) {
    it(`records a model of specification ${version}, with tools, streamed and not`, async () => {
      const { store, server } = await setUp(call, 'Done.', 'Bye.')
      // The responses API of version 2 refers to answers that the server has stored; ours stores none.
      const model = create({ apiKey: 'key', baseURL: server.baseUrls.openai }).chat(
        'gpt-5',
      ) as AnyLanguageModel
      const recorded = recordTo(store, 'example:ai')
      const options = { model: recorded(model), tools: recorded.tools({ look }), stopWhen: isStepCount(3) }
      const { text, responseMessages, usage } = await generateText({ ...options, prompt: 'look' })
      expect(text).toBe('Done.')
      expect(usage.outputTokens).toBeGreaterThan(0)
      const messages = [
        { role: 'user' as const, content: 'look' },
        ...responseMessages,
        { role: 'user' as const, content: 'bye' },
      ]
      expect(await streamText({ ...options, messages }).text).toBe('Bye.')
      expect(await said(store, await recorded.place())).toEqual([
        'user: look',
        'assistant: [look {"at":"x"}]',
        'tool_result: look → seen x',
        'assistant: Done.',
        'user: bye',
        'assistant: Bye.',
      ])
    })
  }

  it('resolves a name by the default provider of the AI SDK', async () => {
    const { store, model } = await setUp('Hello.')
    const asked: string[] = []
    const languageModel = (name: string): LanguageModelV4 => {
      asked.push(name)
      return model()
    }
    vi.stubGlobal('AI_SDK_DEFAULT_PROVIDER', { languageModel })
    try {
      const recorded = recordTo(store, 'example:ai')
      expect((await generateText({ model: recorded('openai/gpt-5'), prompt: 'hi' })).text).toBe('Hello.')
      expect(asked).toEqual(['openai/gpt-5'])
      expect(await said(store, await recorded.place())).toEqual(['user: hi', 'assistant: Hello.'])
    } finally {
      vi.unstubAllGlobals()
    }
  })

  it('refuses other values in a sentence', async () => {
    const { store } = await setUp('Hello.')
    const recorded = recordTo(store, 'example:ai')
    expect(() => recorded('')).toThrow('model: must not be empty')
    expect(() => recorded({} as never)).toThrow('must be a language model of the AI SDK 5, 6 or 7')
  })
})
