import type { Block, ToolCallBlock } from '../../src/core/block.ts'
import type { ContextMessage, Model, ModelAnswer, ModelEvent, ModelRequest } from '../../src/core/model.ts'
import { type OpenModelOptions, openModel } from '../../src/models/open.ts'
import type { ModelServer } from '../support/models/server.ts'

export const text = (words: string): Block => ({ type: 'text', text: words })
export const user = (...blocks: readonly (string | Block)[]): ContextMessage => ({
  role: 'user',
  content: blocks.map(block => (typeof block === 'string' ? text(block) : block)),
})
export const bot = (...blocks: readonly (string | Block)[]): ContextMessage => ({
  role: 'assistant',
  content: blocks.map(block => (typeof block === 'string' ? text(block) : block)),
})
export const system = (words: string): ContextMessage => ({ role: 'system', content: [text(words)] })
export const call = (callId: string, input: ToolCallBlock['input'] = {}, name = 'look'): Block => ({
  type: 'tool_call',
  callId,
  name,
  input,
})
export const result = (callId: string, output: ToolCallBlock['input'] = 'seen'): ContextMessage => ({
  role: 'tool_result',
  content: [{ type: 'tool_result', callId, output }],
})
export const look = { name: 'look', description: 'looks', schema: { type: 'object', properties: {} } }

/** One model of each provider, and its protocol. */
export const providers = {
  'openai/gpt-5': 'openai',
  'anthropic/claude-sonnet-4-5': 'anthropic',
  'google/gemini-2.5-pro': 'google',
  'ollama/llama3.2': 'openai-chat',
  'compatible/some/model': 'openai-chat',
} as const

export const keys = {
  openai: 'sk-test-openai-1',
  anthropic: 'sk-ant-test-1',
  google: 'AIzaTestKey0000',
  compatible: 'ck-1',
}

/** Opens a model on the server, without pauses between attempts, with an empty environment. */
export function open(
  name: string,
  { baseUrls }: ModelServer,
  options: OpenModelOptions = {},
): Promise<Model> {
  const retry = { sleep: async () => {}, random: () => 0.5 }
  return openModel(name, { env: {}, keys, baseUrls, retry, ...options })
}

export async function eventsOf(model: Model, request: ModelRequest): Promise<readonly ModelEvent[]> {
  const all: ModelEvent[] = []
  for await (const event of model.stream(request)) all.push(event)
  return all
}

export async function answerOf(model: Model, request: ModelRequest): Promise<ModelAnswer> {
  const last = (await eventsOf(model, request)).at(-1)
  if (last?.type !== 'answer') throw new Error('the stream did not end with an answer')
  return last.answer
}

/** The pieces before a failure, and the error. */
export async function untilFailure(
  model: Model,
  request: ModelRequest,
): Promise<{ pieces: string[]; error: unknown }> {
  const pieces: string[] = []
  try {
    for await (const event of model.stream(request)) if (event.type !== 'answer') pieces.push(event.text)
  } catch (error) {
    return { pieces, error }
  }
  return { pieces, error: null }
}

export const words = (answer: ModelAnswer): string =>
  answer.content.map(block => (block.type === 'text' ? String(block.text) : '')).join('')
