import { afterEach, describe, expect, it } from 'vitest'
import type { IgnoredOption, ModelOptions, ModelRequest } from '../../src/core/model.ts'
import { openModel } from '../../src/models/open.ts'
import { type ModelServer, startModelServer } from '../support/models/server.ts'
import { answerOf, user } from './conversation.ts'

let server: ModelServer | undefined
afterEach(() => server?.close())

/** The body of a request, with options of the model and of the call. */
async function sent(
  name: string,
  ofModel: ModelOptions,
  ofCall: Omit<ModelRequest, 'messages'>,
): Promise<unknown> {
  server = await startModelServer({ lenient: true })
  const keys = { openai: 'k', anthropic: 'k', google: 'k' }
  const model = await openModel(name, { env: {}, keys, baseUrls: server.baseUrls, ...ofModel })
  await answerOf(model, { messages: [user('hi')], ...ofCall })
  return server.requests[0]?.body
}

const options = { temperature: 0.2, topP: 0.9, maxOutput: 300, stop: ['END'], seed: 7 }

describe('the options of a call', () => {
  it.each([
    ['openai/gpt-4o', { temperature: 0.2, top_p: 0.9, max_output_tokens: 300 }],
    ['anthropic/claude-haiku-4-5', { temperature: 0.2, max_tokens: 300, stop_sequences: ['END'] }],
    [
      'google/gemini-2.5-pro',
      {
        generationConfig: {
          temperature: 0.2,
          topP: 0.9,
          maxOutputTokens: 300,
          stopSequences: ['END'],
          seed: 7,
        },
      },
    ],
    ['compatible/x', { temperature: 0.2, top_p: 0.9, max_tokens: 300, stop: ['END'], seed: 7 }],
    ['ollama/x', { temperature: 0.2, top_p: 0.9, max_tokens: 300, stop: ['END'], seed: 7 }],
  ])('reach the provider of %s, of a request and of the model', async (name, expected) => {
    expect(await sent(name, {}, options)).toMatchObject(expected)
    await server?.close()
    expect(await sent(name, options, {})).toMatchObject(expected)
  })

  it.each([
    ['openai/gpt-4o', ['seed', 'stop']],
    ['openai/gpt-5.5', ['seed', 'stop', 'temperature', 'topP']],
    ['anthropic/claude-sonnet-5-5', ['seed', 'temperature', 'topP']],
    ['google/gemini-2.5-pro', []],
    ['compatible/x', []],
  ])('are named if %s ignores them', async (name, expected) => {
    const ignored: string[] = []
    const onIgnored = ({ option, model }: IgnoredOption) => {
      expect(model).toBe(name)
      ignored.push(option)
    }
    await sent(name, { seed: 7 }, { ...options, onIgnored })
    expect(ignored.sort()).toEqual(expected)
    ignored.length = 0
    await server?.close()
    await sent(name, {}, { onIgnored })
    expect(ignored).toEqual([])
  })

  it('of a request take precedence over those of the model, one by one', async () => {
    const body = await sent(
      'compatible/x',
      { temperature: 0.9, seed: 7, providerOptions: { compatible: { top_k: 10, min_p: 0.1 } } },
      { temperature: 0.2, providerOptions: { compatible: { top_k: 20 } } },
    )
    expect(body).toMatchObject({ temperature: 0.2, seed: 7, top_k: 20, min_p: 0.1 })
  })

  it('are absent if they are not set', async () => {
    const body = await sent('compatible/x', {}, {})
    for (const name of ['temperature', 'top_p', 'max_tokens', 'stop', 'seed'])
      expect(body).not.toHaveProperty(name)
  })
})
