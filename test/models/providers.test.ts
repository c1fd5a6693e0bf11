import { afterEach, describe, expect, it } from 'vitest'
import { asBlock, type Block } from '../../src/core/block.ts'
import type { ContextMessage } from '../../src/core/model.ts'
import { type ModelServer, type ModelServerOptions, startModelServer } from '../support/models/server.ts'
import {
  answerOf,
  bot,
  call,
  eventsOf,
  look,
  open,
  providers,
  result,
  system,
  text,
  untilFailure,
  user,
  words,
} from './conversation.ts'

let server: ModelServer
afterEach(() => server.close())
const start = async (options: ModelServerOptions) => (server = await startModelServer(options))

const png = { type: 'image', mime: 'image/png', data: 'iVBORw0KGgo=' } as const

describe.each(Object.entries(providers))('%s', (name, protocol) => {
  const noCalls = (block: Block) => block.type !== 'tool_call'

  it('streams pieces as they come, and ends with the whole answer', async () => {
    await start({
      reply: () => ({ parts: [{ text: ['Hel', 'lo', '.'] }], usage: { input: 12, output: 3, cacheRead: 4 } }),
    })
    const all = await eventsOf(await open(name, server), { messages: [system('be kind'), user('hi')] })
    expect(all.slice(0, -1)).toEqual(['Hel', 'lo', '.'].map(piece => ({ type: 'text', text: piece })))
    const input = protocol === 'anthropic' ? 16 : 12 // Anthropic counts what it had cached apart
    expect(all.at(-1)).toMatchObject({
      type: 'answer',
      answer: {
        content: [{ type: 'text', text: 'Hello.' }],
        finish: 'stop',
        usage: { input, output: 3, cacheRead: 4 },
      },
    })
    expect(server.requests).toMatchObject([{ provider: protocol, stream: true, refused: null, tools: [] }])
    expect(server.requests[0]?.messages.map(({ role, text }) => [role, text])).toEqual([
      ['system', 'be kind'],
      ['user', 'hi'],
    ])
  })

  it('sends thinking, text, parallel calls and their results back unchanged', async () => {
    await start({
      reply: ({ n }) =>
        n > 0
          ? 'Done.'
          : {
              parts: [
                { thinking: ['let me', ' look'] },
                { text: 'I look.' },
                { call: { name: 'look', input: { at: 1 } } },
                { call: { name: 'look', input: {} } },
              ],
            },
    })
    const model = await open(name, server)
    const asked = [user('look twice')]
    const first = await answerOf(model, { messages: asked, tools: [look] })
    expect(first.finish).toBe('tool_calls')
    expect(first.content).toMatchObject([
      { type: 'thinking', text: 'let me look' },
      { type: 'text', text: 'I look.' },
      { type: 'tool_call', name: 'look', input: { at: 1 } },
      { type: 'tool_call', name: 'look', input: {} },
    ])
    const ids = first.content.flatMap(block => (block.type === 'tool_call' ? [String(block.callId)] : []))
    const stored = JSON.parse(JSON.stringify(first.content)) as readonly Block[]
    const messages: ContextMessage[] = [
      ...asked,
      { role: 'assistant', content: stored },
      ...ids.map(id => result(id, `saw ${id}`)),
    ]
    expect(words(await answerOf(model, { messages, tools: [look] }))).toBe('Done.')
    const second = server.requests[1]
    expect(second?.refused).toBeNull()
    const seen = second?.messages ?? []
    expect(seen.flatMap(message => message.thinking)).toEqual(protocol === 'google' ? [] : ['let me look'])
    expect(seen.flatMap(message => message.calls.map(one => one.input))).toEqual([{ at: 1 }, {}])
    expect(seen.flatMap(message => message.results.map(one => one.output)).join()).toMatch(
      new RegExp(`saw ${ids[0]}.*saw ${ids[1]}`),
    )
    expect(second?.tools).toEqual(['look'])
  })

  it('accepts a context with every kind of block, and gets all of it', async () => {
    await start({})
    const model = await open(name, server)
    const messages: readonly ContextMessage[] = [
      system('one'),
      system('two'),
      bot('I begin'),
      user('', ' \n'),
      user('a'),
      user('b'),
      system('a note'),
      bot('', 'c'),
      bot(
        call('id with spaces and more than forty characters in it'),
        call('same', 'no object'),
        asBlock({ type: 'mystery', x: 1 }),
      ),
      result('id with spaces and more than forty characters in it', { found: [1] }),
      system('between'),
      result('same', ''),
      user('so?'),
      bot({ type: 'thinking', text: 'not mine' }, call('same', {}, 'a.b/c')),
      {
        role: 'tool_result',
        content: [{ type: 'tool_result', callId: 'same', output: 'bad', isError: true }],
      },
      bot('d  '),
    ]
    await answerOf(model, { messages, tools: [look] })
    const [request] = server.requests
    expect(request?.refused).toBeNull()
    const said = request?.messages.map(message => message.text).join('|')
    for (const part of ['one', 'two', 'I begin', 'a', 'b', 'a note', 'c', 'between', 'so?', 'd'])
      expect(said).toContain(part)
    expect(said).not.toContain('not mine')
    expect(request?.messages.flatMap(message => message.calls)).toHaveLength(3)
    expect(request?.messages.flatMap(message => message.results)).toHaveLength(3)
    expect(JSON.stringify(request?.body)).toMatch(protocol === 'anthropic' ? /is_error/ : /Error: bad/)
  })

  it('gets images, text files, and a description of unsupported media', async () => {
    await start({})
    const model = await open(name, server)
    const blocks: Block[] = [
      text('look at these'),
      png,
      { type: 'file', mime: 'text/csv', name: 'a.csv', data: Buffer.from('x;y').toString('base64') },
      { type: 'file', mime: 'application/zip', name: 'a.zip', data: 'UEsDBA==' },
      { type: 'video', mime: 'video/x-odd', url: 'ftp://example.com/v' },
      { type: 'image', mime: 'image/png', name: 'b.png', url: 'file:///a/b.png' },
    ]
    await answerOf(model, { messages: [user(...blocks)] })
    const [request] = server.requests
    expect(request?.refused).toBeNull()
    expect(request?.messages[0]?.media).toHaveLength(1)
    expect(request?.messages[0]?.text).toContain('file a.csv (text/csv):\nx;y')
    expect(request?.messages[0]?.text).toContain(
      '[file a.zip (application/zip): not shown, this model does not take it]',
    )
    expect(request?.messages[0]?.text).toContain('[video (video/x-odd): not shown')
    expect(request?.messages[0]?.text).toContain('[image b.png (image/png): file:///a/b.png]')
  })

  it('gets media in tool results, or directly after them', async () => {
    await start({})
    const model = await open(name, server)
    const output = [
      { type: 'text', text: 'a photo' },
      { type: 'image', mimeType: 'image/png', data: png.data },
    ]
    await answerOf(model, { messages: [user('x'), bot(call('a')), result('a', output)], tools: [look] })
    const body = JSON.stringify(server.requests[0]?.body)
    expect(server.requests[0]?.refused).toBeNull()
    expect(body).toContain('a photo')
    expect(body).toContain(png.data)
    expect(body.includes('[image/png, shown below]')).toBe(
      protocol === 'openai-chat' || protocol === 'google',
    )
  })

  it('gets valid tool names, and returns calls with the original names', async () => {
    await start({ reply: ({ tools }) => ({ parts: [{ call: { name: tools[1] ?? '', input: {} } }] }) })
    const tools = ['files_read', 'files.read', '9lives'].map(tool => ({ ...look, name: tool }))
    const { content: blocks } = await answerOf(await open(name, server), { messages: [user('x')], tools })
    expect(server.requests[0]?.tools).toEqual(['files_read', 'files_read_2', '_9lives'])
    expect(blocks).toMatchObject([{ type: 'tool_call', name: 'files.read' }])
  })

  it('reports why an answer ended', async () => {
    const finishes = ['length', 'filtered', 'refused'] as const
    await start({ reply: ({ n }) => ({ parts: [{ text: 'x' }], finish: finishes[n]! }) })
    const model = await open(name, server)
    expect((await answerOf(model, { messages: [user('x')], maxOutput: 9 })).finish).toBe('length')
    // Anthropic has refusals only, Google filters only.
    const [filtered, refused] = [
      protocol === 'anthropic' ? 'refused' : 'filtered',
      protocol === 'google' ? 'filtered' : 'refused',
    ]
    expect((await answerOf(model, { messages: [user('x')] })).finish).toBe(filtered)
    expect((await answerOf(model, { messages: [user('x')] })).finish).toBe(refused)
    expect(JSON.stringify(server.requests[0]?.body)).toMatch(
      /"(max_tokens|max_output_tokens|maxOutputTokens)":9/,
    )
  })

  it('stops with the signal’s reason, and closes the connection', async () => {
    await start({ reply: () => ({ parts: [{ text: 'one' }, { hang: true }] }) })
    const abort = new AbortController()
    const model = await open(name, server)
    const pieces: string[] = []
    const run = async () => {
      for await (const event of model.stream({ messages: [user('x')], signal: abort.signal })) {
        if (event.type === 'text') pieces.push(event.text)
        abort.abort(new Error('enough'))
      }
    }
    await expect(run()).rejects.toThrow('enough')
    expect(pieces).toEqual(['one'])
    expect(await server.requests[0]?.gone).toBe(true)
  })

  it('closes the connection if the reader stops', async () => {
    await start({ reply: () => ({ parts: [{ text: 'one' }, { hang: true }] }) })
    for await (const _ of (await open(name, server)).stream({ messages: [user('x')] })) break
    expect(await server.requests[0]?.gone).toBe(true)
  })

  it('emits the pieces before a lost connection, and does not retry (R27)', async () => {
    for (const broken of [{ cut: 'socket' }, { cut: 'end' }, { fail: 'out of order' }] as const) {
      await start({ reply: () => ({ parts: [{ text: ['half', ' an'] }, broken] }) })
      const { pieces, error } = await untilFailure(await open(name, server), { messages: [user('x')] })
      expect(pieces.join('')).toBe('half an')
      expect(error).toMatchObject({ code: 'model_failed', retryable: true, model: name })
      if ('fail' in broken) expect(String(error)).toContain('out of order')
      expect(server.requests).toHaveLength(1)
      await server.close()
    }
    await start({})
  })

  it('does not get thinking of other providers', async () => {
    await start({})
    const foreign: Block = {
      type: 'thinking',
      text: 'elsewhere',
      metadata: { provider: { other: { signature: 'x' } } },
    }
    const messages = [user('x'), bot(foreign, call('a')), result('a')]
    await answerOf(await open(name, server), { messages, tools: [look] })
    expect(server.requests[0]?.refused).toBeNull()
    expect(JSON.stringify(server.requests[0]?.body)).not.toContain('elsewhere')
    expect(messages[1]?.content.filter(noCalls)).toHaveLength(1)
  })
})
