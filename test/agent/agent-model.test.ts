import { getEventListeners } from 'node:events'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAI as createOpenAIv2 } from 'ai-openai-v2'
import { createOpenAI as createOpenAIv3 } from 'ai-openai-v3'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { createAgent } from '../../src/agent/agent.ts'
import type { AgentModel } from '../../src/agent/agent-model.ts'
import { tool } from '../../src/agent/tools/tool.ts'
import { scripted } from '../../src/models/scripted.ts'
import type { Reply } from '../support/models/reply.ts'
import { type ModelServer, startModelServer } from '../support/models/server.ts'

/** A model server whose n-th answer is the n-th reply; all further ones are the last. */
async function serverSaying(...replies: readonly Reply[]): Promise<ModelServer> {
  const server = await startModelServer({ reply: ({ n }) => replies[Math.min(n, replies.length - 1)]! })
  onTestFinished(() => server.close())
  return server
}

const image = [{ type: 'image', mime: 'image/png', data: 'iVBORw0KGgo=' }]
const draw = tool({ description: 'Draws', input: z.object({ what: z.string() }), run: () => image })
const callsDraw = { parts: [{ call: { name: 'draw', input: { what: 'a bridge' } } }] }

describe('the model of an agent', () => {
  for (const [version, create] of Object.entries({
    'version 2 (AI SDK 5)': createOpenAIv2,
    'version 3 (AI SDK 6)': createOpenAIv3,
    'version 4 (AI SDK 7)': createOpenAI,
  })) {
    it(`may be a model of the AI SDK: ${version}`, async () => {
      const server = await serverSaying(callsDraw, 'A bridge.')
      const model = create({ apiKey: 'key', baseURL: server.baseUrls.openai })('gpt-5')
      await using agent = createAgent({ model: model as AgentModel, tools: { draw } })
      const { text, usage, status } = await agent.ask('talk', {
        role: 'user',
        content: [
          { type: 'text', text: 'Draw.' },
          { type: 'image', mime: 'image/png', data: 'iVBORw0KGgo=' },
        ],
      })
      expect({ text, status }).toEqual({ text: 'A bridge.', status: 'complete' })
      expect(usage.input).toBeGreaterThan(0)
      expect(usage.output).toBeGreaterThan(0)
      expect(server.requests.map(({ refused }) => refused)).toEqual([null, null])
      // The image of the question and the image of the tool.
      expect(JSON.stringify(server.requests[1]?.body).split('iVBORw0KGgo').length - 1).toBe(2)
    })
  }

  it('may be a name, which is opened with the first call', async () => {
    const server = await serverSaying('Hello.')
    vi.stubEnv('OPENAI_API_KEY', '')
    vi.stubEnv('OPENAI_BASE_URL', server.baseUrls.openai)
    await using agent = createAgent({ model: 'openai/gpt-5' })
    await expect(agent.ask('talk', 'Hi')).rejects.toThrow('OPENAI_API_KEY')
    vi.stubEnv('OPENAI_API_KEY', 'key')
    expect((await agent.ask('talk', 'Hi')).text).toBe('Hello.')
  })

  it('is refused in a sentence if it is none of these', () => {
    for (const [model, found] of [
      [undefined, 'undefined'],
      [{}, 'an object'],
      ['', 'an empty text'],
      [() => 'x', 'function'],
    ] as const)
      expect(() => createAgent({ model: model as never })).toThrow(
        `model: must be a model, or a name such as "openai/gpt-5", got ${found}`,
      )
    const old = { specificationVersion: 'v1', doStream: () => null }
    expect(() => createAgent({ model: old as never })).toThrow('got specification v1')
    expect(() => createAgent({ model: scripted(), strategy: 'summarisation' as never })).toThrow('strategy')
  })
})

it('leaves no listener on a signal that outlives the turn', async () => {
  const server = await serverSaying('ok')
  const { signal } = new AbortController()
  const model = createOpenAI({ apiKey: 'key', baseURL: server.baseUrls.openai })('gpt-5')
  await using agent = createAgent({ model })
  for (const words of ['one', 'two', 'three']) await agent.ask('talk', words, { signal })
  expect(getEventListeners(signal, 'abort')).toEqual([])
})
