import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import { afterEach, describe, expect, it } from 'vitest'
import { type ModelServer, type ModelServerOptions, startModelServer } from '../support/models/server.ts'

let server: ModelServer | undefined
afterEach(() => server?.close())

async function start(options: ModelServerOptions): Promise<ModelServer> {
  server = await startModelServer(options)
  return server
}

const clients = {
  openai: ({ baseUrls }: ModelServer) => createOpenAI({ apiKey: 'k', baseURL: baseUrls.openai })('gpt-5'),
  'openai-chat': ({ baseUrls }: ModelServer) =>
    createOpenAICompatible({ name: 'compatible', baseURL: baseUrls.compatible, includeUsage: true })('llama'),
  anthropic: ({ baseUrls }: ModelServer) =>
    createAnthropic({ apiKey: 'k', baseURL: baseUrls.anthropic })('claude-sonnet-4-5'),
  google: ({ baseUrls }: ModelServer) =>
    createGoogleGenerativeAI({ apiKey: 'k', baseURL: baseUrls.google })('gemini-2.5-pro'),
} as const

const weather = tool({
  description: 'weather',
  inputSchema: jsonSchema<{ city: string }>({ type: 'object', properties: { city: { type: 'string' } } }),
  execute: async ({ city }) => `sunny in ${city}`,
})

const question = { role: 'user', content: 'what is the weather?' } as const
const twoCalls = [
  { thinking: ['let me ', 'look'] },
  { text: ['I will', ' look.'] },
  { call: { name: 'weather', input: { city: 'Oslo' } } },
  { call: { name: 'weather', input: { city: 'Rome' } } },
]

describe.each(Object.entries(clients))(
  'the loopback server, spoken to by the AI SDK as %s',
  (provider, clientOf) => {
    it('streams thinking, text and parallel calls, and accepts their results', async () => {
      const { requests, ...rest } = await start({
        reply: ({ n }) =>
          n === 0 ? { parts: twoCalls } : { parts: [{ text: 'Fine.' }], usage: { input: 77 } },
      })
      const run = streamText({
        model: clientOf({ requests, ...rest }),
        messages: [question],
        tools: { weather },
        stopWhen: stepCountIs(3),
        maxRetries: 0,
        providerOptions: { openai: { store: false, include: ['reasoning.encrypted_content'] } },
      })
      expect(await run.text).toBe('Fine.')
      const steps = await run.steps
      expect(steps[0]?.reasoningText).toBe('let me look')
      expect(steps[0]?.text).toBe('I will look.')
      expect(steps[1]?.usage.inputTokens).toBe(77)
      expect(requests.map(request => request.refused)).toEqual([null, null])
      expect(requests[1]?.provider).toBe(provider)
      const results = requests[1]?.messages.flatMap(message => message.results.map(result => result.output))
      expect(results?.join()).toMatch(/sunny in Oslo.*sunny in Rome/)
    })

    it('returns a whole answer', async () => {
      const started = await start({ reply: ({ n }) => (n === 0 ? { parts: twoCalls } : 'Fine.') })
      const answer = await generateText({
        model: clientOf(started),
        messages: [question],
        tools: { weather },
        stopWhen: stepCountIs(3),
        maxRetries: 0,
        providerOptions: { openai: { store: false, include: ['reasoning.encrypted_content'] } },
      })
      expect(answer.text).toBe('Fine.')
      expect(started.requests.map(request => request.refused)).toEqual([null, null])
    })
  },
)
