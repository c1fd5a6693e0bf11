import { client, ndJsonStream } from '@agentclientprotocol/sdk/unstable'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFold } from '../../../src/acp/transcript/fold.ts'
import { hear } from '../../../src/acp/transcript/hear.ts'
import { createReplay } from '../../../src/acp/transcript/replay-updates.ts'
import type { Block } from '../../../src/core/block.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import type { Message } from '../../../src/core/message.ts'
import { anyUpdate } from './any-update.ts'
import { assistant, called, path, replayed, result, type Said, user } from './said.ts'

const text = (words: string) => ({ type: 'text', text: words })
const shown = (words: string) => ({ type: 'content', content: text(words) })

describe('a replay', () => {
  it('contains the messages in order, each with its id', () => {
    const picture: Block = { type: 'image', mime: 'image/png', data: 'AA' }
    const messages = path(
      { role: 'system', content: [{ type: 'text', text: 'Be kind.' }] },
      user('Look:', picture),
      assistant({ type: 'thinking', text: 'Hm.' }, 'A cat.', picture),
    )
    const image = { type: 'image', data: 'AA', mimeType: 'image/png' }
    expect(replayed(messages)).toEqual([
      { sessionUpdate: 'user_message_chunk', messageId: 'm1', content: text('Look:') },
      { sessionUpdate: 'user_message_chunk', messageId: 'm1', content: image },
      { sessionUpdate: 'agent_thought_chunk', messageId: 'm2', content: text('Hm.') },
      { sessionUpdate: 'agent_message_chunk', messageId: 'm2', content: text('A cat.') },
      { sessionUpdate: 'agent_message_chunk', messageId: 'm2', content: image },
    ])
  })

  it('contains a call and its result as one update', () => {
    const messages = path(
      user('Read'),
      assistant('I read.', called('a', 'read_file', { path: 'x' }), called('b', 'list')),
      result('b', 'x\ny'),
      {
        role: 'tool_result',
        content: [{ type: 'tool_result', callId: 'a', output: { lines: 3 }, isError: true }],
      },
      assistant('Done.'),
    )
    expect(replayed(messages).slice(2, 4)).toEqual([
      {
        sessionUpdate: 'tool_call',
        toolCallId: 'a',
        title: 'read_file',
        name: 'read_file',
        kind: 'other',
        status: 'failed',
        rawInput: { path: 'x' },
        rawOutput: { lines: 3 },
        content: [shown('{\n  "lines": 3\n}')],
      },
      {
        sessionUpdate: 'tool_call',
        toolCallId: 'b',
        title: 'list',
        name: 'list',
        kind: 'other',
        status: 'completed',
        rawInput: {},
        rawOutput: 'x\ny',
        content: [shown('x\ny')],
      },
    ])
    expect(replayed(messages)).toHaveLength(5)
  })

  it('contains all fields of a call, as they were at its end', () => {
    const diff = { type: 'diff', path: 'a.ts', oldText: 'a', newText: 'b' }
    const messages = heardPath([
      { sessionUpdate: 'tool_call', toolCallId: 'a', title: 'Edit', kind: 'edit', status: 'in_progress' },
      { sessionUpdate: 'tool_call_update', toolCallId: 'a', title: 'Edit a.ts', rawInput: { path: 'a.ts' } },
      {
        sessionUpdate: 'tool_call_update',
        toolCallId: 'a',
        status: 'completed',
        content: [diff, shown('changed')],
        locations: [{ path: 'a.ts', line: 3 }],
      },
    ])
    expect(replayed(messages)).toEqual([
      {
        sessionUpdate: 'tool_call',
        toolCallId: 'a',
        title: 'Edit a.ts',
        name: 'edit',
        kind: 'edit',
        status: 'completed',
        rawInput: { path: 'a.ts' },
        rawOutput: 'changed',
        content: [diff, shown('changed')],
        locations: [{ path: 'a.ts', line: 3 }],
      },
    ])
  })

  it('contains the media of a tool', () => {
    const output = [
      { type: 'text', text: 'a cat' },
      { type: 'image', mimeType: 'image/png', data: 'AA' },
    ]
    const messages = path(assistant(called('a')), {
      role: 'tool_result',
      content: [{ type: 'tool_result', callId: 'a', output }],
    })
    expect(replayed(messages)).toMatchObject([
      {
        content: [
          shown('a cat'),
          { type: 'content', content: { type: 'image', data: 'AA', mimeType: 'image/png' } },
        ],
      },
    ])
  })

  it('contains a call without a result as interrupted', () => {
    expect(replayed(path(assistant(called('a'))))).toMatchObject([
      { toolCallId: 'a', status: 'failed', content: [shown('interrupted, outcome unknown')] },
    ])
  })

  it('gives calls with the same id different ids, each with its own result', () => {
    const messages = path(
      ...[assistant(called('a')), result('a', '1'), user('again'), assistant(called('a')), result('a', '2')],
    )
    const calls = replayed(messages).filter(({ sessionUpdate }) => sessionUpdate === 'tool_call')
    expect(calls.map(({ toolCallId, rawOutput }) => [toolCallId, rawOutput])).toEqual([
      ['a', '1'],
      ['a-2', '2'],
    ])
  })

  it('contains a result without a call', () => {
    expect(replayed(path(user('go'), result('z', 'out')))).toMatchObject([
      {},
      { sessionUpdate: 'tool_call', toolCallId: 'z', status: 'completed', content: [shown('out')] },
    ])
  })

  it('contains erased messages as erased', () => {
    const erased = { content: [], erased: { erasedAt: new Date(0), by: 'me', reason: 'private' } }
    const messages = path(
      { ...user(), ...erased },
      assistant(called('a')),
      { ...result('a', ''), ...erased },
      { ...assistant(), ...erased },
      { role: 'system', ...erased },
    )
    expect(replayed(messages)).toMatchObject([
      { sessionUpdate: 'user_message_chunk', content: text('[erased]') },
      { sessionUpdate: 'tool_call', status: 'completed', content: [shown('[erased]')] },
      { sessionUpdate: 'agent_message_chunk', content: text('[erased]') },
    ])
  })
})

describe('a replay of a long path', () => {
  const sizes = (messages: readonly Message[]) => {
    const replay = createReplay()
    return [...messages.map(message => replay.add(message).length), replay.end().length]
  }

  it('sends an exchange when the next one begins', () => {
    const turn = [user('Read'), assistant(called('a')), result('a', '1'), assistant('Done.')]
    expect(sizes(path(...turn, ...turn))).toEqual([0, 0, 0, 0, 3, 0, 0, 0, 3])
  })

  it('sends a long turn in parts, between a result and the next call', () => {
    const calls = Array.from({ length: 500 }, (_, i) => [assistant(called(`c${i}`)), result(`c${i}`, 'out')])
    const sent = sizes(path(user('Read all'), ...calls.flat()))
    expect(Math.max(...sent)).toBeLessThan(210)
    expect(sent.reduce((sum, one) => sum + one)).toBe(501)
  })

  it('finds a result behind another question, and does not wait for one without end', () => {
    const asked = [user('Read'), assistant(called('a')), user('And?')]
    expect(replayed(path(...asked, result('a', 'late')))[1]).toMatchObject({ rawOutput: 'late' })
    const others = Array.from({ length: 1_500 }, (_, i) => user(`${i}`))
    const sent = sizes(path(...asked, ...others))
    expect(sent.filter(one => one > 900)).toHaveLength(1)
    expect(sent.reduce((sum, one) => sum + one)).toBe(1_503)
  })

  it('gives calls with the same id different ids in all its parts', () => {
    const turn = [user('Read'), assistant(called('a')), result('a', '1')]
    const calls = replayed(path(...turn, ...turn, ...turn)).filter(one => one.sessionUpdate === 'tool_call')
    expect(calls.map(({ toolCallId }) => toolCallId)).toEqual(['a', 'a-2', 'a-3'])
  })
})

/** The stored messages of a recorded turn. */
function heardPath(updates: readonly JsonObject[]): readonly Message[] {
  const fold = createFold()
  const effects = [...updates.flatMap(update => fold.hear(hear(update))), ...fold.end()]
  return path(...effects.flatMap(effect => (effect.type === 'message' ? [effect.message as Said] : [])))
}

/** The texts, calls and results of messages, in order, without the boundaries between messages. */
function whatIsSaid(messages: readonly Message[]) {
  const blocks = messages.flatMap(message => message.content)
  const bare = (type: string) =>
    blocks.flatMap(block => (block.type === type && 'text' in block ? [block.text] : [])).join('')
  const of = (type: string) => blocks.filter(block => block.type === type)
  return {
    text: bare('text'),
    thinking: bare('thinking'),
    calls: of('tool_call').map(block => ('input' in block ? [block.callId, block.name] : [])),
    outputs: of('tool_result').map(block =>
      'output' in block ? [block.callId, block.output, block.isError] : [],
    ),
    media: blocks.filter(({ type }) => type === 'image' || type === 'audio' || type === 'file'),
  }
}

const turns = fc.array(
  anyUpdate.filter(({ sessionUpdate }) => sessionUpdate !== 'user_message_chunk'),
  { maxLength: 15 },
)

/** Turns in which each call has a result: a call without one is replayed as failed, and would be recorded as
 *  such. */
const finished = turns.map(updates => [
  ...updates,
  ...['a', 'b', 'c', 'd'].map(toolCallId => ({
    sessionUpdate: 'tool_call_update',
    toolCallId,
    status: 'completed',
  })),
])

describe('any recorded turn', () => {
  it('is read again from its replay, text for text and call for call, with and without terminals', () => {
    const keys = fc.constantFrom(null, 'terminal_output', 'terminal_output_delta')
    fc.assert(
      fc.property(finished, keys, (updates, key) => {
        const stored = heardPath(updates)
        const again = whatIsSaid(heardPath(replayed(stored, key)))
        const before = whatIsSaid(stored)
        // Results are in the order of their calls then.
        const inOrder = (outputs: typeof before.outputs) =>
          [...outputs].sort((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1))
        expect({ ...again, outputs: inOrder(again.outputs) }).toEqual({
          ...before,
          outputs: inOrder(before.outputs),
        })
      }),
      { numRuns: 80 },
    )
  })

  it('is replayed in updates that the SDK of the protocol passes unchanged', async () => {
    const updates = fc
      .sample(turns, { numRuns: 60, seed: 6 })
      .flatMap((turn, i) => replayed(heardPath(turn), i % 2 === 0 ? null : 'terminal_output'))
      .filter(({ content }) => (content as JsonObject | undefined)?.type !== 'acp')
    const seen = await throughTheSdk(updates)
    expect(updates.length).toBeGreaterThan(150)
    expect(seen).toEqual(updates)
  })

  it('would be changed by the SDK if it did not follow the protocol (control)', async () => {
    const chunk = { sessionUpdate: 'agent_message_chunk', content: text('a') }
    const seen = await throughTheSdk([{ ...chunk, ours: 1 }, chunk])
    expect(seen).toEqual([chunk, chunk])
  })
})

/** The updates that a client on the SDK receives. */
async function throughTheSdk(updates: readonly JsonObject[]) {
  const lines = new TransformStream<Uint8Array, Uint8Array>()
  const seen: unknown[] = []
  const connection = client({ name: 'test' })
    .onNotification('session/update', ({ params }) => void seen.push(params.update))
    .connect(ndJsonStream(new WritableStream(), lines.readable))
  const writer = lines.writable.getWriter()
  const send = (message: object) =>
    writer.write(Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`))
  for (const update of updates) await send({ method: 'session/update', params: { sessionId: 's', update } })
  await writer.close()
  await connection.closed
  return seen
}
