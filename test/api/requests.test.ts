import { describe, expect, it } from 'vitest'
import type { ZodType } from 'zod'
import { listConversationsOf, searchOptionsOf } from '../../src/api/list-conversations.ts'
import { storedMessageJson } from '../../src/api/message.ts'
import { conversationPatchOf, newConversationOf } from '../../src/api/new-conversation.ts'
import { newMessageOf } from '../../src/api/new-message.ts'
import { firstProblem } from '../../src/api/schema/index.ts'
import {
  appendSchema,
  askSchema,
  branchPatchSchema,
  conversationPatchSchema,
  exportConversationQuery,
  listConversationsQuery,
  listMessagesQuery,
  newConversationSchema,
  searchQuery,
} from '../../src/api/schema/request/index.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'

const parent = '0b9f6a4e-6f0e-4a53-9b62-5d4f4f0f4b10'

const roleSentence =
  'messages[0].role must be "user", "assistant", "tool_result", "system", "tool" or "developer"'

describe('requests', () => {
  it('describe messages without loss, including blocks of unknown types', async () => {
    const citation = { type: 'citation', call_id: 'stays', sources: [{ a: null }], meta: { b: 1 } }
    const blocks = [
      { type: 'text', text: 'I look', meta: { cited: [1] }, mime: null, modality: 'text' },
      { type: 'tool_call', call_id: 'c1', name: 'bash', input: null },
      { type: 'image', mime: 'image/png', data: 'AAAA', url: null, name: 'a.png' },
      citation,
    ]
    const result = { type: 'tool_result', call_id: 'c1', output: null, is_error: true, name: null }
    const { messages } = appendSchema.parse({
      expected_head: null,
      messages: [
        {
          role: 'developer',
          content: '',
          metadata: { from: 'test' },
          created_at: '2026-01-02T03:04:05.678Z',
        },
        { role: 'assistant', blocks, tokens: 7, label: 'good' },
        { role: 'tool', blocks: [result] },
      ],
    })
    const store = await openSqliteStore(':memory:')
    const { branch } = await store.create()
    const { ids } = await store.append(branch, null, messages.map(newMessageOf))
    const [first, second, third] = (await store.getMessages(ids)).map(storedMessageJson)
    expect(first).toMatchObject({
      role: 'system',
      plain: true,
      meta: { from: 'test' },
      created_at: '2026-01-02T03:04:05.678Z',
    })
    expect(second).toMatchObject({ tokens: 7, label: 'good', plain: false })
    expect(second!.blocks).toEqual([
      { type: 'text', text: 'I look', meta: { cited: [1] }, mime: null, modality: 'text' },
      { type: 'tool_call', call_id: 'c1', name: 'bash', input: null, meta: null, mime: null, modality: null },
      {
        type: 'image',
        mime: 'image/png',
        data: 'AAAA',
        url: null,
        name: 'a.png',
        meta: null,
        modality: null,
      },
      citation,
    ])
    expect(third!.blocks).toMatchObject([{ output: null, is_error: true, name: null }])
    // What was read can be sent back, and gives the same content.
    const again = appendSchema.parse({ messages: [{ role: 'assistant', blocks: second!.blocks }] })
    const copy = await store.append(branch, ids.at(-1)!, again.messages.map(newMessageOf))
    const [read] = (await store.getMessages(copy.ids)).map(storedMessageJson)
    expect(read!.blocks).toEqual(second!.blocks)
    await store.close()
  })

  it('describe conversations and changes', () => {
    const fields = {
      title: 'Storm',
      task: 'GW-12',
      project: null,
      prompt_policy: 'stored',
      tool_results: 200,
      metadata: { a: 1 },
      tags: ['x'],
      expires_at: '2031-01-01T00:00:00Z',
      ttl_ms: 1000,
    }
    const expected = {
      title: 'Storm',
      task: 'GW-12',
      promptPolicy: 'stored',
      toolResults: { truncate: 200 },
      metadata: { a: 1 },
      tags: ['x'],
      expiresAt: new Date('2031-01-01T00:00:00Z'),
      ttlMs: 1000,
    }
    expect(conversationPatchOf(conversationPatchSchema.parse(fields))).toEqual({ ...expected, project: null })
    const created = newConversationSchema.parse({ ...fields, key: 'cli:x', parent, parent_message: null })
    const link = { conversationId: parent, messageId: null }
    expect(newConversationOf(created)).toEqual({ ...expected, key: 'cli:x', parent: link })
    expect(newConversationOf(newConversationSchema.parse({}))).toEqual({})
    expect(conversationPatchOf(conversationPatchSchema.parse({}))).toEqual({})
    expect(() => newConversationOf(newConversationSchema.parse({ parent: 'x' }))).toThrow('parent: must be')
  })

  it('describe lists and searches', () => {
    const query = {
      channel: '',
      directory: ['/a', '/b'],
      'metadata.agent_id': 'x',
      'metadata.n': '3',
      updated_from: '2026-01-01T00:00:00Z',
      trashed: 'true',
      limit: '7',
    }
    expect(listConversationsOf(listConversationsQuery.parse(query))).toEqual({
      channel: null,
      directory: ['/a', '/b'],
      metadata: { agent_id: 'x', n: 3 },
      updatedFrom: new Date('2026-01-01T00:00:00Z'),
      trashed: true,
      limit: 7,
    })
    const search = searchQuery.parse({ q: 'jitter', order: 'ranked', snippet_length: '40', directory: '/a' })
    expect(searchOptionsOf(search)).toEqual({ order: 'ranked', snippetLength: 40, directory: '/a' })
    expect(listMessagesQuery.parse({ order: 'ascending', roles: 'user,assistant' }).roles).toEqual([
      'user',
      'assistant',
    ])
  })

  const refused: [name: string, schema: ZodType, body: object, field: string][] = [
    ['a misspelt filter', listConversationsQuery, { chanel: 'x' }, 'chanel'],
    [
      'a misspelt field',
      appendSchema,
      { messages: [{ role: 'user', contents: '' }] },
      'messages[0].contents',
    ],
    ['a message without content', appendSchema, { messages: [{ role: 'user' }] }, 'messages[0].content'],
    ['a text and blocks', askSchema, { content: 'x', blocks: [{ type: 'x' }] }, 'content'],
    ['a block without its text', askSchema, { blocks: [{ type: 'text' }] }, 'blocks[0].text'],
    ['a call without an id', askSchema, { blocks: [{ type: 'tool_call', name: 'x' }] }, 'blocks[0].call_id'],
    ['a block without a type', askSchema, { blocks: [{}] }, 'blocks[0].type'],
    ['a move without the expected head', branchPatchSchema, { head: null }, 'expected_head'],
    ['a range of a path by seq', listMessagesQuery, { order: 'ascending', from: '1' }, 'order'],
    ['a role without an order', listMessagesQuery, { roles: 'user' }, 'order'],
    ['a branch and a message', listMessagesQuery, { branch: 'main', at: 'x' }, 'at'],
  ]
  const wordings: [schema: ZodType, body: object, sentence: string][] = [
    [exportConversationQuery, { format: 'pdf' }, 'format must be "native", "markdown" or "html"'],
    [listConversationsQuery, { limit: '0' }, 'limit must be at least 1'],
    [listConversationsQuery, { limit: '99999999' }, 'limit must be at most 1000'],
    [listConversationsQuery, { limit: '1.5' }, 'limit must be a whole number'],
    [listConversationsQuery, { limit: 'x' }, 'limit must be a number'],
    [
      listConversationsQuery,
      { updated_from: 'soon' },
      'updated_from must be a time such as 2026-01-31T12:00:00Z',
    ],
    [appendSchema, {}, 'messages is required'],
    [appendSchema, { messages: [] }, 'messages must have at least 1 item'],
    [appendSchema, { messages: 'x' }, 'messages must be a list'],
    [appendSchema, { messages: [{ role: 'poet', content: '' }] }, roleSentence],
    [conversationPatchSchema, { metadata: 5 }, 'metadata must be an object'],
    [conversationPatchSchema, { title: 5 }, 'title must be a text'],
    [askSchema, {}, 'content give either content or blocks'],
  ]
  it.each(wordings)('are refused in plain English: %#', (schema, body, sentence) => {
    const { field, problem } = firstProblem(schema.safeParse(body).error!)
    expect(`${field} ${problem}`).toBe(sentence)
  })

  it.each(refused)('refuse %s, and name the field', (_, schema, body, field) => {
    const { error } = schema.safeParse(body)
    expect(error && firstProblem(error)).toEqual({ field, problem: expect.stringMatching(/^[a-z]/) })
  })
})
