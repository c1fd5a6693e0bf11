import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { expect, it } from 'vitest'
import { createAgent } from '../../src/agent/agent.ts'
import type { Block } from '../../src/core/block.ts'
import type { ContextMessage } from '../../src/core/model.ts'
import { modelOf } from '../../src/models/wrap.ts'
import { openStore } from '../../src/stores/open.ts'
import { answerOf, untilFailure, user } from './conversation.ts'

const usage = {
  inputTokens: { total: 7, noCache: 5, cacheRead: 2, cacheWrite: undefined },
  outputTokens: { total: 3, text: 3, reasoning: undefined },
}
const finish = (unified: 'stop' | 'interrupted' | 'error' | 'other'): LanguageModelV4StreamPart => ({
  type: 'finish',
  usage,
  finishReason: { unified, raw: undefined },
})

/** A foreign language model that streams these parts and keeps its requests. */
function foreign(
  parts: readonly LanguageModelV4StreamPart[],
  asked: LanguageModelV4CallOptions[] = [],
): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'acme.chat',
    modelId: 'one',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('is not asked')),
    doStream: async options => {
      asked.push(options)
      return { stream: ReadableStream.from(parts) as ReadableStream<LanguageModelV4StreamPart> }
    },
  }
}

it('wraps any language model, and names it like the AI SDK', async () => {
  const model = modelOf(
    foreign([
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'hi' },
      { type: 'text-end', id: '1' },
      finish('stop'),
    ]),
  )
  expect(model.id).toBe('acme/one')
  expect(await answerOf(model, { messages: [user('x')] })).toEqual({
    content: [{ type: 'text', text: 'hi' }],
    finish: 'stop',
    usage: { input: 7, output: 3, cacheRead: 2 },
    model: null,
  })
})

it.each([
  ['negative', -1, undefined],
  ['an average', 10.5, 11],
  ['not a number', Number.NaN, undefined],
  ['beyond every model', 1e13, undefined],
])('keeps an answer whose token counts are %s', async (_, count, known) => {
  const reported = {
    inputTokens: { total: count, noCache: count, cacheRead: count, cacheWrite: count },
    outputTokens: { total: count, text: count, reasoning: count },
  }
  const model = modelOf(
    foreign([
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'hi' },
      { type: 'text-end', id: '1' },
      { ...finish('stop'), usage: reported } as LanguageModelV4StreamPart,
    ]),
  )
  await using store = await openStore(':memory:')
  await using agent = createAgent({ store, model })
  const { text, status, usage } = await agent.ask('talk', 'hello')
  const kinds = ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning']
  const counts = known === undefined ? {} : Object.fromEntries(kinds.map(kind => [kind, known]))
  expect([text, status, usage]).toEqual(['hi', 'complete', counts])
})

it('keeps provider-executed calls apart from other calls, and sends them back', async () => {
  const said = { acme: { itemId: 'i1' } }
  const asked: LanguageModelV4CallOptions[] = []
  const model = modelOf(
    foreign(
      [
        {
          type: 'tool-call',
          toolCallId: 's1',
          toolName: 'web_search',
          input: '{"q":"x"}',
          providerExecuted: true,
          providerMetadata: said,
        },
        {
          type: 'tool-result',
          toolCallId: 's1',
          toolName: 'web_search',
          result: ['found'],
          providerMetadata: said,
        },
        { type: 'source', sourceType: 'url', id: 'u1', url: 'https://example.com', title: 'Example' },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([1, 2]) } },
        { type: 'custom', kind: 'acme.note', providerMetadata: said },
        { type: 'text-start', id: '1', providerMetadata: { acme: { a: 1 } } },
        { type: 'text-delta', id: '1', delta: 'so' },
        { type: 'text-end', id: '1', providerMetadata: { acme: { b: 2 } } },
        finish('stop'),
      ],
      asked,
    ),
  )
  const { content: blocks, finish: why } = await answerOf(model, { messages: [user('x')] })
  expect(why).toBe('stop')
  const metadata = { provider: said, model: 'one' }
  expect(blocks).toEqual([
    { type: 'provider_call', callId: 's1', name: 'web_search', input: { q: 'x' }, metadata },
    { type: 'provider_result', callId: 's1', name: 'web_search', output: ['found'], metadata },
    { type: 'source', sourceType: 'url', id: 'u1', url: 'https://example.com', title: 'Example' },
    { type: 'image', mime: 'image/png', data: 'AQI=' },
    { type: 'provider_custom', kind: 'acme.note', metadata },
    { type: 'text', text: 'so', metadata: { provider: { acme: { a: 1, b: 2 } }, model: 'one' } },
  ])
  const answered: ContextMessage = {
    role: 'assistant',
    content: JSON.parse(JSON.stringify(blocks)) as readonly Block[],
  }
  await answerOf(model, { messages: [user('x'), answered, user('y')] })
  expect(asked[1]?.prompt[1]).toMatchObject({
    role: 'assistant',
    content: [
      { type: 'tool-call', toolCallId: 's1', providerExecuted: true, providerOptions: said },
      {
        type: 'tool-result',
        toolCallId: 's1',
        output: { type: 'json', value: ['found'] },
        providerOptions: said,
      },
      { type: 'text', text: '[image (image/png)]' },
      { type: 'custom', kind: 'acme.note', providerOptions: said },
      { type: 'text', text: 'so', providerOptions: { acme: { a: 1, b: 2 } } },
    ],
  })
})

it('sends texts back separately if each has provider metadata', async () => {
  const asked: LanguageModelV4CallOptions[] = []
  const told = (n: number) => ({ provider: { acme: { n } }, model: 'one' })
  const blocks: Block[] = [1, 2].map(n => ({ type: 'text', text: `${n}`, metadata: told(n) }))
  const apart: Block[] = [3, 4].map(n => ({ type: 'text', text: `${n}` }))
  const messages: ContextMessage[] = [
    user('x'),
    { role: 'assistant', content: [...blocks, ...apart] },
    user('y'),
  ]
  await answerOf(modelOf(foreign([finish('stop')], asked)), { messages })
  expect(asked[0]?.prompt[1]?.content).toEqual([
    { type: 'text', text: '1', providerOptions: { acme: { n: 1 } } },
    { type: 'text', text: '2', providerOptions: { acme: { n: 2 } } },
    { type: 'text', text: '3\n\n4' },
  ])
})

it('keeps an input that is not JSON, so that the model can get an error', async () => {
  const call = (input: string): LanguageModelV4StreamPart => ({
    type: 'tool-call',
    toolCallId: input,
    toolName: 'look',
    input,
  })
  const { content: blocks, finish: why } = await answerOf(
    modelOf(foreign([call('{"a":'), call(''), finish('stop')])),
    { messages: [user('x')] },
  )
  expect(why).toBe('tool_calls')
  expect(blocks).toMatchObject([{ input: '{"a":' }, { input: {} }])
})

it.each<[string, readonly LanguageModelV4StreamPart[], RegExp]>([
  ['without saying that it is whole', [], /: acme broke off before the answer was complete$/],
  ['as interrupted', [finish('interrupted')], /: acme broke off before the answer was complete$/],
  ['as failed', [finish('error')], /: acme broke off before the answer was complete$/],
  [
    'with an error',
    [{ type: 'error', error: { type: 'overloaded_error', message: 'too busy' } }, finish('error')],
    /overloaded or failing \(529\): too busy/,
  ],
  [
    'with a mere string',
    [{ type: 'error', error: 'boom' }],
    /broke off before the answer was complete: boom$/,
  ],
])('fails if the stream ends %s, after the pieces before', async (_how, end, said) => {
  const begun: LanguageModelV4StreamPart[] = [
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta: 'half' },
  ]
  const { pieces, error } = await untilFailure(modelOf(foreign([...begun, ...end])), {
    messages: [user('x')],
  })
  expect(pieces).toEqual(['half'])
  expect(error).toMatchObject({ code: 'model_failed', retryable: true })
  expect(String(error)).toMatch(said)
})

it('doubles the pauses between attempts, and spreads them', async () => {
  const slept: number[] = []
  const retry = {
    tries: 5,
    random: () => 0.5,
    sleep: async (ms: number) => void slept.push(ms),
    longestDelayMs: 2_000,
  }
  await untilFailure(modelOf(foreign([finish('interrupted')]), { retry }), { messages: [user('x')] })
  expect(slept).toEqual([375, 750, 1_500, 2_000])
})

it('stops if the model ignores the signal', async () => {
  const abort = new AbortController()
  let cancelled = false
  const stream = new ReadableStream<LanguageModelV4StreamPart>({
    start: all => all.enqueue({ type: 'text-delta', id: '1', delta: 'half' }),
    cancel: () => {
      cancelled = true
    },
  })
  const deaf = { ...foreign([]), doStream: async () => ({ stream }) }
  const pieces = modelOf(deaf)
    .stream({ messages: [user('x')], signal: abort.signal })
    [Symbol.asyncIterator]()
  expect(await pieces.next()).toEqual({ done: false, value: { type: 'text', text: 'half' } })
  const next = pieces.next()
  abort.abort(new Error('enough'))
  await expect(next).rejects.toThrow('enough')
  expect(cancelled).toBe(true)
})

it('refuses models of versions of the AI SDK that it does not know', () => {
  const old = { ...foreign([]), specificationVersion: 'v1' } as unknown as LanguageModelV4
  expect(() => modelOf(old)).toThrow('must be a language model of the AI SDK 5, 6 or 7, got specification v1')
})

it('refuses an empty context', async () => {
  const { error } = await untilFailure(modelOf(foreign([finish('stop')])), { messages: [] })
  expect(error).toMatchObject({ code: 'invalid' })
})
