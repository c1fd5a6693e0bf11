import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import { generateText, streamText } from 'ai'
import { describe, expect, it, onTestFinished } from 'vitest'
import { recordTo } from '../../src/adapters/ai-sdk/record-to.ts'
import { asBlock, type Block } from '../../src/core/block.ts'
import type { Json } from '../../src/core/json.ts'
import type { ContextMessage } from '../../src/core/model.ts'
import { pathOf } from '../../src/core/path.ts'
import { googleDialect } from '../../src/models/dialect.ts'
import { plainJson } from '../../src/models/plain-json.ts'
import { modelOf } from '../../src/models/wrap.ts'
import { openStore } from '../../src/stores/open.ts'
import { answerOf, user } from './conversation.ts'

const usage = {
  inputTokens: { total: 7, noCache: 5, cacheRead: 2, cacheWrite: undefined },
  outputTokens: { total: 3, text: 3, reasoning: undefined },
}
const because = (unified: LanguageModelV4FinishReason['unified']) => ({
  unified,
  raw: unified === 'content-filter' ? 'content_filter' : undefined,
})

/** A model with this answer, whole or streamed, that keeps its requests. */
function answering(
  content: readonly LanguageModelV4Content[],
  reason: LanguageModelV4FinishReason['unified'] = 'stop',
  asked: LanguageModelV4CallOptions[] = [],
): LanguageModelV4 {
  const parts: LanguageModelV4StreamPart[] = content.flatMap((part, i): LanguageModelV4StreamPart[] => {
    if (part.type !== 'text' && part.type !== 'reasoning') return [part]
    const { providerMetadata, citations, text } = part as Extract<LanguageModelV4Content, { type: 'text' }>
    const said = providerMetadata && { providerMetadata }
    return [
      { type: `${part.type}-start`, id: `${i}`, ...said },
      ...[...text].map(delta => ({ type: `${part.type}-delta`, id: `${i}`, delta }) as const),
      { type: `${part.type}-end`, id: `${i}`, ...(citations && { citations }) } as LanguageModelV4StreamPart,
    ]
  })
  return {
    specificationVersion: 'v4',
    provider: 'acme.chat',
    modelId: 'one',
    supportedUrls: {},
    doGenerate: async () => ({ content: [...content], finishReason: because(reason), usage, warnings: [] }),
    doStream: async options => {
      asked.push(options)
      const finish = { type: 'finish', usage, finishReason: because(reason) } as const
      return {
        stream: ReadableStream.from([...parts, finish]) as ReadableStream<LanguageModelV4StreamPart>,
      }
    },
  }
}

/** The stored answer of a recorded call of the AI SDK. */
async function recorded(model: LanguageModelV4, how: 'generate' | 'stream') {
  const store = await openStore(':memory:')
  onTestFinished(() => store.close())
  await using record = recordTo(store, 'k')
  if (how === 'generate') await generateText({ model: record(model), prompt: 'hi' })
  else await streamText({ model: record(model), prompt: 'hi' }).consumeStream()
  await record.end()
  const { head } = await store.getBranch(await record.place())
  return (await pathOf(store, head!)).find(({ role }) => role === 'assistant')
}

const said = { acme: { itemId: 'i1' } }
const metadata = { provider: said, model: 'one' }
const png = { type: 'data', data: new Uint8Array([1, 2]) } as const

const cases: readonly [string, readonly LanguageModelV4Content[], readonly Block[]][] = [
  [
    'texts with citations, and what the provider said of them',
    [
      {
        type: 'text',
        text: 'See',
        providerMetadata: said,
        citations: [{ source: { type: 'source', sourceType: 'url', id: '1', url: 'u' } }],
      },
    ],
    [
      {
        type: 'text',
        text: 'See',
        metadata: {
          ...metadata,
          citations: [{ source: { type: 'source', sourceType: 'url', id: '1', url: 'u' } }],
        },
      },
    ],
  ],
  [
    'empty texts and thoughts, but only if the provider said something of them',
    [
      { type: 'reasoning', text: '' },
      { type: 'reasoning', text: '', providerMetadata: said },
      { type: 'text', text: '' },
      { type: 'text', text: '', providerMetadata: {} },
      { type: 'text', text: '', providerMetadata: said },
      { type: 'text', text: 'so' },
    ],
    [
      { type: 'thinking', text: '', metadata },
      { type: 'text', text: '', metadata },
      { type: 'text', text: 'so' },
    ],
  ],
  [
    'files of reasoning as such',
    [
      { type: 'reasoning-file', mediaType: 'image/png', data: png, providerMetadata: said },
      { type: 'file', mediaType: 'audio/wav', data: { type: 'data', data: 'AQI=' } },
    ],
    [
      { type: 'image', mime: 'image/png', data: 'AQI=', metadata: { ...metadata, reasoning: true } },
      { type: 'audio', mime: 'audio/wav', data: 'AQI=' },
    ],
  ],
  [
    'what the provider did by itself, once',
    [
      { type: 'custom', kind: 'acme.message_start' },
      { type: 'tool-call', toolCallId: '1', toolName: 'web', input: '{"q":1}', providerExecuted: true },
      { type: 'tool-result', toolCallId: '1', toolName: 'web', result: ['a'], preliminary: true },
      { type: 'tool-result', toolCallId: '1', toolName: 'web', result: { code: 1 }, isError: true },
      { type: 'source', sourceType: 'url', id: 's', url: 'https://example.org', title: 'Example' },
      { type: 'text', text: 'so' },
    ],
    [
      asBlock({ type: 'provider_call', callId: '1', name: 'web', input: { q: 1 } }),
      asBlock({ type: 'provider_result', callId: '1', name: 'web', output: { code: 1 }, isError: true }),
      asBlock({ type: 'source', sourceType: 'url', id: 's', url: 'https://example.org', title: 'Example' }),
      { type: 'text', text: 'so' },
    ],
  ],
]

describe.each(cases)('an answer keeps %s', (_what, content, blocks) => {
  it('of a model of skein/models', async () => {
    const answer = await answerOf(modelOf(answering(content)), { messages: [user('hi')] })
    expect(answer.content).toEqual(blocks)
  })
  it.each(['generate', 'stream'] as const)('recorded from the AI SDK (%s)', async how => {
    expect((await recorded(answering(content), how))?.content).toEqual(blocks)
  })
})

describe('finishOf', () => {
  const call: LanguageModelV4Content = { type: 'tool-call', toolCallId: '1', toolName: 'look', input: '{}' }
  const own: LanguageModelV4Content = { ...call, providerExecuted: true }
  const text: LanguageModelV4Content = { type: 'text', text: 'so' }
  it.each([
    ['stop', text, 'stop'],
    ['stop', call, 'tool_calls'],
    ['other', call, 'tool_calls'],
    ['tool-calls', call, 'tool_calls'],
    ['tool-calls', own, 'other'],
    ['length', call, 'length'],
    ['content-filter', text, 'filtered'],
    ['other', text, 'other'],
  ] as const)(
    'combines the reason of the provider (%s) with the content (%o): %s',
    async (reason, part, why) => {
      const model = answering([part], reason)
      expect((await answerOf(modelOf(model), { messages: [user('hi')] })).finish).toBe(why)
      expect((await recorded(model, 'generate'))?.metadata?.finish).toBe(why)
      expect((await recorded(model, 'stream'))?.metadata?.finish).toBe(why)
    },
  )
})

it('keeps provider metadata of the first and of the last part of a text', async () => {
  const parts: LanguageModelV4StreamPart[] = [
    { type: 'reasoning-start', id: '1', providerMetadata: { acme: { id: 'a', more: null } } },
    { type: 'reasoning-delta', id: '1', delta: 'hm' },
    { type: 'reasoning-end', id: '1', providerMetadata: { acme: { more: 'b' }, other: { c: 1 } } },
    { type: 'finish', usage, finishReason: because('stop') },
  ]
  const stream = () => ReadableStream.from(parts) as ReadableStream<LanguageModelV4StreamPart>
  const model = { ...answering([]), doStream: async () => ({ stream: stream() }) }
  const provider = { acme: { id: 'a', more: 'b' }, other: { c: 1 } }
  const blocks = [{ type: 'thinking', text: 'hm', metadata: { provider, model: 'one' } }]
  expect((await answerOf(modelOf(model), { messages: [user('hi')] })).content).toEqual(blocks)
  expect((await recorded(model, 'stream'))?.content).toEqual(blocks)
})

describe('a prompt of earlier answers', () => {
  const thought: Block = {
    type: 'image',
    mime: 'image/png',
    data: 'AQI=',
    metadata: { ...metadata, reasoning: true },
  }
  const asks = async (blocks: readonly Block[], options?: Parameters<typeof modelOf>[1]) => {
    const asked: LanguageModelV4CallOptions[] = []
    const messages = [user('x'), { role: 'assistant', content: blocks } as const, user('y')]
    await answerOf(modelOf(answering([{ type: 'text', text: 'so' }], 'stop', asked), options), { messages })
    return asked[0]?.prompt[1]?.content
  }

  it('has files of reasoning for the provider that made them, if it accepts them', async () => {
    const dialect = { ...googleDialect, key: 'acme' }
    expect(await asks([thought, { type: 'text', text: 'so' }], { dialect })).toEqual([
      {
        type: 'reasoning-file',
        mediaType: 'image/png',
        data: { type: 'data', data: 'AQI=' },
        providerOptions: said,
      },
      { type: 'text', text: 'so' },
    ])
  })

  it('does not mention them to other providers', async () => {
    for (const dialect of [googleDialect, undefined])
      expect(await asks([thought, { type: 'text', text: 'so' }], dialect && { dialect })).toEqual([
        { type: 'text', text: 'so' },
      ])
  })

  it('has failures of provider tools as failures', async () => {
    const call = { callId: '1', name: 'web', metadata }
    const blocks: Block[] = [
      asBlock({ type: 'provider_call', ...call, input: {} }),
      asBlock({ type: 'provider_result', ...call, output: 'gone', isError: true }),
    ]
    expect(await asks(blocks)).toMatchObject([
      { type: 'tool-call', toolCallId: '1', providerExecuted: true },
      { type: 'tool-result', toolCallId: '1', output: { type: 'error-json', value: 'gone' } },
    ])
  })
})

describe('a result with several parts, recorded from the AI SDK', () => {
  const file = { type: 'provider_file', mime: 'application/pdf', reference: { acme: 'f1' } }
  const image = { type: 'image', mime: 'image/png', data: 'AQI=' }
  const shown = async (output: Json, recorded = true) => {
    const asked: LanguageModelV4CallOptions[] = []
    const result: Block = {
      type: 'tool_result',
      callId: '1',
      output,
      ...(recorded && { metadata: { output: 'content' } }),
    }
    const messages: ContextMessage[] = [
      user('x'),
      { role: 'assistant', content: [{ type: 'tool_call', callId: '1', name: 'look', input: {} }] },
      { role: 'tool_result', content: [result] },
    ]
    await answerOf(modelOf(answering([{ type: 'text', text: 'so' }], 'stop', asked)), { messages })
    return asked[0]!.prompt.slice(2).flatMap(({ content }) => content as object[])
  }
  const textOfResult = (value: string) => expect.objectContaining({ output: { type: 'text', value } })

  it('is sent as texts', async () => {
    const texts = [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ]
    expect(await shown(texts)).toEqual([textOfResult('a\nb')])
    expect(await shown(texts, false)).toMatchObject([{ output: { type: 'json', value: texts } }])
  })

  it('is sent with its images, next to any other parts', async () => {
    expect(await shown([image, file])).toEqual([
      textOfResult(`[image/png, shown below]\n${JSON.stringify(file)}`),
      { type: 'text', text: '[From the tool:]' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQI=' } },
    ])
  })
})

describe('plainJson', () => {
  const cycle: unknown[] = []
  cycle.push(cycle)
  it.each([
    [undefined, null],
    [new Uint8Array([9, 1, 2]).subarray(1), 'AQI='],
    [{ a: Buffer.from([1, 2]), b: undefined }, { a: 'AQI=' }],
    [
      [new Date(0), new URL('https://a.org/')],
      ['1970-01-01T00:00:00.000Z', 'https://a.org/'],
    ],
    [Number.NaN, null],
    [10n, '10'],
    [cycle, ''],
  ])('converts %o to %o', (given, json) => expect(plainJson(given)).toEqual(json))
})
