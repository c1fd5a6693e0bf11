import type { LanguageModelV4 } from '@ai-sdk/provider'
import {
  extractReasoningMiddleware,
  generateText,
  isStepCount,
  streamText,
  tool,
  wrapLanguageModel,
} from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type ModelRecorder, recordTo } from '../../../src/adapters/ai-sdk/record-to.ts'
import { recordingScope } from '../../../src/adapters/ai-sdk/recording-scope.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { count, said, setUp, turns } from './setting.ts'

const look = tool({ inputSchema: z.object({}), execute: async () => 'seen' })
const asks = { parts: [{ call: { name: 'look', input: {} } }] }
const middleware = extractReasoningMiddleware({ tagName: 'think' })

type Wrap = (one: ModelRecorder, two: ModelRecorder, model: LanguageModelV4) => LanguageModelV4

describe.each<[string, Wrap]>([
  ['by the same recorder', (one, _, model) => one(one(model))],
  ['by another recorder of the same key', (one, two, model) => one(two(model))],
  [
    'as a model and as middleware',
    (one, _, model) => wrapLanguageModel({ model: one(model), middleware: one.middleware }),
  ],
  [
    'with other middleware between',
    (one, two, model) => one(wrapLanguageModel({ model: two(model), middleware })),
  ],
])('a model that is wrapped twice, %s', (_how, wrap) => {
  it.each(['generate', 'stream'] as const)('is recorded once, and so are its tools (%s)', async how => {
    const { store, model } = await setUp(asks, '<think>hm</think>Seen.', 'Bye.')
    const [one, two] = [recordTo(store, 'example:ai'), recordTo(store, 'example:ai')]
    const options = {
      model: wrap(one, two, model()),
      tools: one.tools(two.tools(one.tools({ look }))),
      stopWhen: isStepCount(5),
      prompt: 'look',
    }
    if (how === 'generate') await generateText(options)
    else await streamText(options).consumeStream()
    const place = await one.place()
    expect(await count(store, place)).toBe(4)
    expect(await turns(store, place)).toEqual(['complete main 0-3'])
    expect((await said(store, place)).slice(0, 3)).toEqual([
      'user: look',
      'assistant: [look {}]',
      'tool_result: look → seen',
    ])
  })
})

it('records a model that is wrapped for two keys under both', async () => {
  const { store, model } = await setUp('Hi.')
  const [one, two] = [recordTo(store, 'example:one'), recordTo(store, 'example:two')]
  await generateText({ model: one(two(model())), prompt: 'hello' })
  for (const recorder of [one, two])
    expect(await said(store, await recorder.place())).toEqual(['user: hello', 'assistant: Hi.'])
})

it('records a model call of a tool that runs while an answer streams', async () => {
  const { store, model } = await setUp(asks, 'Inner.', 'Outer.')
  const recorder = recordTo(store, 'example:ai')
  const inner = tool({
    inputSchema: z.object({}),
    execute: async () => (await generateText({ model: recorder(model()), prompt: 'inner' })).text,
  })
  await streamText({
    model: recorder(model()),
    tools: recorder.tools({ look: inner }),
    stopWhen: isStepCount(5),
    prompt: 'outer',
  }).consumeStream()
  await recorder.end()
  const { conversationId } = await recorder.place()
  const paths = await Promise.all(
    (await collectPages(page => store.listBranches(conversationId, page))).map(({ name }) =>
      said(store, { conversationId, name }),
    ),
  )
  expect(paths).toContainEqual(['user: inner', 'assistant: Inner.'])
  expect(paths).toContainEqual([
    'user: outer',
    'assistant: [look {}]',
    'tool_result: look → Inner.',
    'assistant: Outer.',
  ])
})

it('does not count work that a model leaves running after its answer as part of the call', async () => {
  const { store } = await setUp()
  const once = recordingScope(store, 'example:ai')
  const seen: boolean[] = [once.isInside]
  const gate = Promise.withResolvers<void>()
  const later = await once.run(async () => {
    seen.push(once.isInside)
    return { left: gate.promise.then(() => once.isInside) }
  })
  gate.resolve()
  expect([...seen, await later.left]).toEqual([false, true, false])
})
