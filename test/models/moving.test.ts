import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { asBlock, type Block } from '../../src/core/block.ts'
import type { ContextMessage, Model } from '../../src/core/model.ts'
import { type ModelServer, startModelServer } from '../support/models/server.ts'
import { answerOf, bot, call, look, open, providers, result, user, words } from './conversation.ts'

let server: ModelServer
beforeAll(async () => {
  server = await startModelServer({
    reply: ({ messages }) =>
      messages.at(-1)?.role === 'user'
        ? {
            parts: [
              { thinking: 'hm' },
              { text: 'I look.' },
              { call: { name: 'look', input: {} } },
              { call: { name: 'look', input: {} } },
            ],
          }
        : 'Seen.',
  })
})
afterAll(() => server.close())

const stored = (blocks: readonly Block[]): readonly Block[] => JSON.parse(JSON.stringify(blocks))

/** Calls the model, runs the tools, and calls it again: one turn. */
async function turn(model: Model, messages: ContextMessage[], then: Model = model): Promise<void> {
  messages.push(user(`turn ${messages.length}`))
  const { content: blocks } = await answerOf(model, { messages, tools: [look] })
  messages.push({ role: 'assistant', content: stored(blocks) })
  for (const block of blocks) if (block.type === 'tool_call') messages.push(result(String(block.callId)))
  const last = await answerOf(then, { messages, tools: [look] })
  expect(words(last)).toBe('Seen.')
  messages.push({ role: 'assistant', content: stored(last.content) })
}

describe('a conversation that changes its provider', () => {
  const names = Object.keys(providers)
  const pairs = names.flatMap(from => names.filter(to => to !== from).map(to => [from, to] as const))

  it.each(pairs)('continues from %s with %s and back, with thinking and tools', async (from, to) => {
    const before = server.requests.length
    const messages: ContextMessage[] = []
    const [one, other] = [await open(from, server), await open(to, server)]
    await turn(one, messages)
    await turn(other, messages)
    await turn(one, messages)
    const requests = server.requests.slice(before)
    expect(requests.map(request => request.refused)).toEqual([null, null, null, null, null, null])
  })

  it('sends OpenAI’s reasoning only to the model that wrote it', async () => {
    const messages: ContextMessage[] = []
    await turn(await open('openai/gpt-5', server), messages)
    const send = async (name: string) => {
      await answerOf(await open(name, server), { messages: [...messages, user('and now?')], tools: [look] })
      return JSON.stringify(server.requests.at(-1)?.body)
    }
    expect(await send('openai/gpt-5')).toContain('"encrypted_content"')
    expect(await send('openai/gpt-4.1')).not.toContain('"encrypted_content"')
  })
})

describe('thinking without a signature', () => {
  it.each(['compatible/x', 'ollama/x'])(
    'is sent back to %s while tools are used, and not in later turns',
    async name => {
      const model = await open(name, server)
      const messages = [user('a'), bot({ type: 'thinking', text: 'loose' }, call('c')), result('c')]
      const seen = async (context: readonly ContextMessage[]) => {
        await answerOf(model, { messages: context, tools: [look] })
        return server.requests.at(-1)?.messages.flatMap(message => message.thinking)
      }
      expect(await seen(messages)).toEqual(['loose'])
      expect(await seen([...messages, bot('so'), user('b')])).toEqual([])
    },
  )
})

describe('a turn that changes its provider while tools run', () => {
  const thinking = { anthropic: { thinking: { type: 'enabled', budgetTokens: 1_024 } } }

  it.each(Object.keys(providers))('is finished by Claude with thinking if %s began it', async name => {
    const before = server.requests.length
    const claude = await open('anthropic/claude-sonnet-4-5', server, { providerOptions: thinking })
    const messages: ContextMessage[] = []
    await turn(await open(name, server), messages, claude)
    await turn(claude, messages)
    const requests = server.requests.slice(before)
    expect(requests.map(request => request.refused)).toEqual([null, null, null, null])
    const thinks = requests.map(({ body }) => (body as { thinking?: { type?: string } }).thinking?.type)
    const own = name.startsWith('anthropic')
    expect(thinks).toEqual([undefined, own ? 'enabled' : 'disabled', 'enabled', 'enabled'])
  })
})

describe('any context', () => {
  const id = fc.constantFrom('a', 'b', 'toolu_1', 'x y', 'é', 'l'.repeat(70))
  const media = fc.constantFrom<Block>(
    { type: 'image', mime: 'image/png', data: 'iVBORw0KGgo=' },
    { type: 'image', mime: 'image/tiff', data: 'AAAA' },
    { type: 'image', mime: 'image/png', url: 'https://example.com/a.png' },
    { type: 'audio', mime: 'audio/wav', data: 'AAAA' },
    { type: 'video', mime: 'video/mp4', url: 'https://example.com/a.mp4' },
    { type: 'file', mime: 'application/pdf', data: 'JVBERi0=' },
    { type: 'file', mime: 'text/plain', data: 'aGk=' },
    { type: 'file', mime: 'application/x-odd' },
  )
  const said = fc.oneof(
    fc
      .constantFrom('', ' ', '\n', 'hi', 'trailing  ', '</x>', 'é\u0000')
      .map((text): Block => ({ type: 'text', text })),
    media,
    fc.constant(asBlock({ type: 'mystery', data: 'AAAA' })),
  )
  const thinking = fc.constantFrom<Block>(
    { type: 'thinking', text: 'loose' },
    { type: 'thinking', text: '', metadata: { provider: {} } },
    { type: 'thinking', text: 'foreign', metadata: { provider: { elsewhere: { signature: 'x' } } } },
  )
  const output = fc.constantFrom<string | object>(
    '',
    'ok',
    { a: 1 },
    [{ type: 'image', mimeType: 'image/png', data: 'AAAA' }],
    [],
  )
  const calls = fc.uniqueArray(fc.tuple(id, fc.constantFrom('look', 'a.b', '1'), output, fc.boolean()), {
    minLength: 1,
    maxLength: 3,
    selector: ([callId]) => callId,
  })
  const exchange = calls.chain(all =>
    fc
      .tuple(fc.array(fc.oneof(said, thinking), { maxLength: 3 }), fc.boolean())
      .map(([before, apart]): ContextMessage[] => {
        const results = all.map(([callId, , given, isError]) => ({
          type: 'tool_result' as const,
          callId,
          output: given as never,
          isError,
        }))
        const asking = bot(...before, ...all.map(([callId, name]) => call(callId, {}, name)))
        if (!apart) return [asking, { role: 'tool_result', content: results }]
        return [
          asking,
          ...results.map((block): ContextMessage => ({ role: 'tool_result', content: [block] })),
        ]
      }),
  )
  const message = fc
    .tuple(
      fc.constantFrom('user', 'assistant', 'system') as fc.Arbitrary<'user' | 'assistant' | 'system'>,
      fc.array(said, { maxLength: 3 }),
    )
    .map(([role, blocks]): ContextMessage[] => [{ role, content: blocks }])
  const context = fc.array(fc.oneof(message, exchange), { minLength: 1, maxLength: 8 }).map(all => all.flat())

  it.each(Object.keys(providers))('with a result for each call is accepted by %s', async name => {
    const model = await open(name, server)
    await fc.assert(
      fc.asyncProperty(context, async messages => {
        await answerOf(model, { messages, tools: [look] })
        expect(server.requests.at(-1)?.refused).toBeNull()
      }),
      { numRuns: 150, seed: 20_261_116 },
    )
  })
})
