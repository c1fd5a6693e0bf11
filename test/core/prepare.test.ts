import { describe, expect, it } from 'vitest'
import { encodeBody } from '../../src/core/body.ts'
import { InvalidError } from '../../src/core/errors.ts'
import type { NewMessage } from '../../src/core/message.ts'
import { prepareMessage, prepareMessages, readRole, titleOfMessages } from '../../src/core/prepare.ts'

/** Values that a careless caller could pass. */
const prepare = (message: unknown) => prepareMessage(message as NewMessage, 'messages[0]')
const withBlock = (block: unknown) => ({ role: 'assistant', content: [{ type: 'text', text: 'a' }, block] })

function refusal(message: unknown): string {
  try {
    prepare(message)
  } catch (error) {
    if (error instanceof InvalidError) return error.message
    throw error
  }
  return 'accepted'
}

describe('prepareMessage', () => {
  it('makes the stored form of a message', () => {
    expect(prepare({ role: 'user', content: 'hello there' })).toEqual({
      role: 'user',
      body: encodeBody('hello there', undefined),
      time: null,
      tokens: 3,
      label: null,
      said: 'hello there',
    })
  })

  it("uses the caller's time, tokens, label and metadata", () => {
    const message = {
      role: 'user',
      content: 'hi',
      createdAt: new Date(7),
      tokens: 0,
      label: 'first',
      metadata: { a: 1 },
    }
    expect(prepare(message)).toEqual({
      role: 'user',
      body: encodeBody('hi', { a: 1 }),
      time: 7,
      tokens: 0,
      label: 'first',
      said: 'hi',
    })
  })

  it('takes a title only from a user message', () => {
    const titled = (...messages: NewMessage[]) => titleOfMessages(messages.map(message => prepare(message)))
    const image = { role: 'user', content: [{ type: 'image', mime: 'image/png', url: 'u' }] } as const
    const text = (text: string) => ({ type: 'text', text }) as const
    expect(titled({ role: 'assistant', content: 'hi' })).toBeNull()
    expect(titled(image)).toBeNull()
    expect(titled({ role: 'user', content: [text('look'), text('here')] })).toBe('look here')
    expect(titled(image, { role: 'user', content: ' ' }, { role: 'user', content: 'a' })).toBe('a')
  })

  it.each([
    [null, 'messages[0]: must be a message, got null'],
    ['hi', 'messages[0]: must be a message, got string'],
    [
      { content: 'hi' },
      'messages[0].role: must be user, assistant, tool_result (or tool), system (or developer)',
    ],
    [{ role: 'user' }, 'messages[0].content: must be a string or a list of blocks, got undefined'],
    [
      { role: 'user', content: { type: 'text' } },
      'messages[0].content: must be a string or a list of blocks, got an object',
    ],
    [
      { role: 'user', content: 'hi', metadata: [] },
      'messages[0].metadata: must be a JSON object, got a list',
    ],
    [
      { role: 'user', content: 'hi', metadata: { a: [1n] } },
      'messages[0].metadata.a[0]: must be JSON, got bigint',
    ],
    [
      { role: 'user', content: 'hi', name: 'Ada' },
      'messages[0].name: unknown field; a message has role, content, metadata, createdAt, tokens, label. ' +
        'Put it into metadata',
    ],
    [
      { role: 'user', content: 'hi', createdAt: '2026' },
      'messages[0].createdAt: must be a date between 1970 and 9999',
    ],
    [
      { role: 'user', content: 'hi', tokens: -1 },
      'messages[0].tokens: must be a whole number from 0 to 2147483647',
    ],
    [{ role: 'user', content: 'hi', label: '' }, 'messages[0].label: must not be empty'],
  ])('refuses a message and names the field (%#)', (message, words) => {
    expect(refusal(message)).toBe(words)
  })
})

describe('blocks', () => {
  it.each([
    { type: 'text', text: '' },
    { type: 'text', text: 'a', mime: 'text/plain', modality: 'text', metadata: {}, extra: [1] },
    { type: 'thinking', text: 'hm', metadata: { signature: 's' } },
    { type: 'tool_call', callId: 'c', name: 'n', input: null },
    { type: 'tool_result', callId: 'c', output: null },
    { type: 'tool_result', callId: 'c', name: 'n', output: [{ a: 1 }], isError: false },
    { type: 'image', mime: 'image/png', data: '' },
    { type: 'audio', mime: 'audio/wav', url: 'https://example.com/a.wav', modality: 'audio' },
    { type: 'video', mime: 'video/mp4', data: 'AAAA', url: 'u' },
    { type: 'file', mime: 'text/csv', data: 'not base64', name: 'a.csv' },
    { type: 'of tomorrow', data: 5, modality: 'smell', anything: { at: ['all'] } },
    { type: '__proto__' },
    { type: 'toString' },
  ])('accepts %j', block => {
    expect(refusal(withBlock(block))).toBe('accepted')
  })

  it.each([
    [null, ': must be an object, got null'],
    ['text', ': must be an object, got string'],
    [{}, '.type: must be a non-empty string'],
    [{ type: '' }, '.type: must be a non-empty string'],
    [{ type: 'text' }, '.text: must be a string, got undefined'],
    [{ type: 'thinking', text: 5 }, '.text: must be a string, got number'],
    [{ type: 'text', text: 'a', metadata: [] }, '.metadata: must be a JSON object'],
    [{ type: 'text', text: 'a', mime: 5 }, '.mime: must be a string, got number'],
    [{ type: 'text', text: 'a', modality: 'smell' }, '.modality: must be one of text, image, audio, video'],
    [{ type: 'tool_call', name: 'n', input: {} }, '.callId: must be a string, got undefined'],
    [{ type: 'tool_call', callId: 'c', input: {} }, '.name: must be a string, got undefined'],
    [{ type: 'tool_call', callId: 'c', name: 'n' }, '.input: is missing'],
    [{ type: 'tool_result', callId: 'c' }, '.output: is missing'],
    [{ type: 'tool_result', output: 1 }, '.callId: must be a string, got undefined'],
    [{ type: 'tool_result', callId: 'c', name: 5, output: 1 }, '.name: must be a string, got number'],
    [{ type: 'tool_result', callId: 'c', output: 1, isError: 'no' }, '.isError: must be true or false'],
    [
      { type: 'tool_call', callId: 'c', name: 'n', input: { when: new Date(0) } },
      '.input.when: must be plain JSON, got Date',
    ],
    [{ type: 'image', data: 'AAAA' }, '.mime: must be a string, got undefined'],
    [{ type: 'image', mime: 'image/png' }, ': must have data or a url'],
    [{ type: 'image', mime: 'image/png', url: 5 }, '.url: must be a string, got number'],
    [{ type: 'file', mime: 'a/b', data: 5 }, '.data: must be a string, got number'],
    [{ type: 'file', mime: 'a/b', data: 'AAAA', name: {} }, '.name: must be a string, got an object'],
    [{ type: 'of tomorrow', fn: () => 1 }, '.fn: must be JSON, got function'],
  ])('refuses a block and names its path (%#)', (block, words) => {
    expect(refusal(withBlock(block))).toBe(`messages[0].content[1]${words}`)
  })
})

describe('prepareMessages', () => {
  it('prepares all messages and names the invalid one', () => {
    const good: NewMessage = { role: 'user', content: 'hi' }
    expect(prepareMessages([good, good])).toHaveLength(2)
    expect(() => prepareMessages([good, { role: 'user', content: 5 } as unknown as NewMessage])).toThrow(
      'messages[1].content: must be a string',
    )
  })

  it('refuses an empty list', () => {
    expect(() => prepareMessages([] as unknown as [NewMessage])).toThrow('messages: must not be empty')
  })
})

describe('readRole', () => {
  it.each([
    ['user', 'user'],
    ['assistant', 'assistant'],
    ['tool_result', 'tool_result'],
    ['tool', 'tool_result'],
    ['system', 'system'],
    ['developer', 'system'],
  ])('reads %s as %s', (given, role) => {
    expect(readRole(given, 'role')).toBe(role)
  })

  it.each(['User', '', 'function', null, 5])('refuses %j', role => {
    expect(() => readRole(role, 'role')).toThrow(InvalidError)
  })
})

it('prepareMessage refuses a message whose small blocks together exceed a body', () => {
  const block = { type: 'text', text: 'x'.repeat(16_000) } as const
  const blocks = Array.from({ length: 4_300 }, () => block)
  expect(() => prepareMessage({ role: 'user', content: blocks }, 'message')).toThrow(
    /^message\.content: must be at most/,
  )
})
