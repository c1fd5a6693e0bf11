import type { LanguageModelV4Content, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { ModelMessage } from 'ai'
import { describe, expect, it } from 'vitest'
import { readPrompt } from '../../../src/adapters/ai-sdk/read-prompt.ts'
import { writeMessages } from '../../../src/adapters/ai-sdk/write-messages.ts'
import type { NewMessage, Role } from '../../../src/core/message.ts'
import { pathOf } from '../../../src/core/path.ts'
import { blocksOf } from '../../../src/models/content.ts'
import { openStore } from '../../../src/stores/open.ts'

const openai = { openai: { itemId: 'rs_1', encrypted: 'xyz' } }

const prompt: LanguageModelV4Prompt = [
  { role: 'system', content: 'be kind' },
  { role: 'system', content: 'be brief' },
  { role: 'user', content: [{ type: 'text', text: 'hi' }] },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'look', providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw==' }, filename: 'a.png' },
      {
        type: 'file',
        mediaType: 'audio/wav',
        data: { type: 'url', url: new URL('https://example.org/a.wav') },
      },
      {
        type: 'file',
        mediaType: 'application/pdf',
        data: { type: 'reference', reference: { openai: 'file-1' } },
      },
      { type: 'file', mediaType: 'text/plain', data: { type: 'text', text: 'grüße' } },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'hm', providerOptions: openai },
      { type: 'text', text: 'I look.' },
      { type: 'custom', kind: 'openai.compaction', providerOptions: openai },
      { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw==' } },
      { type: 'tool-call', toolCallId: '1', toolName: 'look', input: { at: 'x' }, providerOptions: openai },
      { type: 'tool-call', toolCallId: '2', toolName: 'web', input: {}, providerExecuted: true },
      { type: 'tool-result', toolCallId: '2', toolName: 'web', output: { type: 'json', value: [1] } },
    ],
  },
  {
    role: 'tool',
    content: [
      { type: 'tool-result', toolCallId: '1', toolName: 'look', output: { type: 'text', value: 'seen' } },
      { type: 'tool-result', toolCallId: '3', toolName: 'look', output: { type: 'json', value: 'a string' } },
      { type: 'tool-result', toolCallId: '4', toolName: 'look', output: { type: 'error-text', value: 'no' } },
      {
        type: 'tool-result',
        toolCallId: '5',
        toolName: 'look',
        output: { type: 'error-json', value: { code: 1 } },
      },
      {
        type: 'tool-result',
        toolCallId: '6',
        toolName: 'look',
        output: { type: 'execution-denied', reason: 'no' },
      },
      {
        type: 'tool-result',
        toolCallId: '7',
        toolName: 'look',
        output: {
          type: 'content',
          value: [
            { type: 'text', text: 'two files' },
            { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw==' } },
            {
              type: 'file',
              mediaType: 'image/png',
              data: { type: 'url', url: new URL('https://example.org/b.png') },
            },
          ],
        },
      },
    ],
  },
  { role: 'system', content: 'said later' },
]

/** The message after a round trip through the store. */
async function stored(messages: readonly NewMessage[]) {
  const store = await openStore(':memory:')
  const { branch } = await store.create()
  const { head } = await store.append(branch, null, messages as [NewMessage])
  const path = await pathOf(store, head)
  await store.close()
  return path
}

describe('readPrompt and writeMessages', () => {
  it('restore a stored prompt, except for the system prompt', async () => {
    const { system, messages } = readPrompt(prompt)
    expect(system).toBe('be kind\n\nbe brief')
    expect(writeMessages(await stored(messages))).toEqual(prompt.slice(2))
  })

  it('write messages that generateText accepts', () => {
    const messages: ModelMessage[] = writeMessages([])
    expect(messages).toEqual([])
  })

  it('store plain text as a string', async () => {
    const [first] = await stored(
      readPrompt([{ role: 'user', content: [{ type: 'text', text: 'hi' }] }]).messages,
    )
    expect(first).toMatchObject({ plain: true, role: 'user' })
  })

  it('store bytes as base64', () => {
    const data = { type: 'data', data: new Uint8Array([1, 2, 3]).subarray(1) } as const
    const [message] = readPrompt([
      { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data }] },
    ]).messages
    expect(message?.content).toEqual([{ type: 'image', mime: 'image/png', data: 'AgM=' }])
  })
})

describe('blocksOf an answer', () => {
  const content: LanguageModelV4Content[] = [
    { type: 'reasoning', text: 'hm', providerMetadata: openai },
    {
      type: 'text',
      text: 'See',
      citations: [{ source: { type: 'source', sourceType: 'url', id: '1', url: 'u' } }],
    },
    { type: 'source', sourceType: 'url', id: 's', url: 'https://example.org', title: 'Example' },
    { type: 'tool-call', toolCallId: '1', toolName: 'look', input: '{"at":"x"}', providerMetadata: openai },
    { type: 'tool-call', toolCallId: '2', toolName: 'look', input: '' },
    { type: 'tool-call', toolCallId: '3', toolName: 'look', input: '{"at":' },
    { type: 'tool-call', toolCallId: '4', toolName: 'web', input: '{}', providerExecuted: true },
    { type: 'tool-result', toolCallId: '4', toolName: 'web', result: { a: 0 }, preliminary: true },
    { type: 'tool-result', toolCallId: '4', toolName: 'web', result: { a: 1 } },
    { type: 'tool-approval-request', approvalId: 'a', toolCallId: '4' },
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([1]) } },
  ]

  it('keeps everything of the provider: reasoning with its signature, sources, citations, approvals', async () => {
    const [answer] = await stored([{ role: 'assistant', content: blocksOf(content, 'gpt-5') }])
    expect(answer?.content.map(({ type }) => type)).toEqual([
      ...['thinking', 'text', 'source', 'tool_call', 'tool_call', 'tool_call', 'provider_call'],
      ...['provider_result', 'provider_tool-approval-request', 'image'],
    ])
    expect(answer?.content[0]).toEqual({
      type: 'thinking',
      text: 'hm',
      metadata: { provider: openai, model: 'gpt-5' },
    })
    expect(answer?.content[2]).toMatchObject({ url: 'https://example.org', title: 'Example' })
    expect(answer?.content[5]).toMatchObject({ input: '{"at":' })
    expect(answer?.content[7]).toMatchObject({ callId: '4', output: { a: 1 } })
  })

  it('is sent back in the form of the SDK', () => {
    const [message] = writeMessages([{ role: 'assistant' as Role, content: blocksOf(content) }])
    expect(message).toMatchObject({
      role: 'assistant',
      content: [
        { type: 'reasoning', providerOptions: openai },
        { type: 'text', text: 'See' },
        { type: 'tool-call', toolCallId: '1', input: { at: 'x' }, providerOptions: openai },
        { type: 'tool-call', toolCallId: '2', input: {} },
        { type: 'tool-call', toolCallId: '3', input: {} },
        { type: 'tool-call', toolCallId: '4', providerExecuted: true },
        { type: 'tool-result', output: { type: 'json', value: { a: 1 } } },
        { type: 'file', data: { type: 'data', data: 'AQ==' } },
      ],
    })
  })
})
