import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hear } from '../../../src/acp/transcript/hear.ts'
import type { Heard } from '../../../src/acp/transcript/heard.ts'
import { asBlock } from '../../../src/core/block.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { prepareMessages } from '../../../src/core/prepare.ts'
import { anyUpdate, bentUpdate } from './any-update.ts'

const text = (words: string) => ({ type: 'text', text: words })

describe('an update', () => {
  const cases: readonly (readonly [string, JsonObject, Heard])[] = [
    [
      'user_message_chunk',
      { content: text('hi'), messageId: 'm' },
      { type: 'user', block: { type: 'text', text: 'hi' }, messageId: 'm' },
    ],
    [
      'agent_message_chunk',
      { content: text('hi') },
      { type: 'answer', block: { type: 'text', text: 'hi' }, messageId: null },
    ],
    [
      'agent_message_chunk',
      { content: { type: 'image', data: 'AAAA', mimeType: 'image/png' } },
      { type: 'answer', block: { type: 'image', mime: 'image/png', data: 'AAAA' }, messageId: null },
    ],
    [
      'agent_message_chunk',
      { content: { type: 'hologram', beams: 3 } },
      {
        type: 'answer',
        block: asBlock({ type: 'acp', content: { type: 'hologram', beams: 3 } }),
        messageId: null,
      },
    ],
    [
      'agent_thought_chunk',
      { content: text('hm'), messageId: null },
      { type: 'thought', text: 'hm', messageId: null },
    ],
    ['plan', { entries: [{ content: 'a' }] }, { type: 'plan', entries: [{ content: 'a' }] }],
    ['plan_update', { plan: { type: 'items', entries: [1] } }, { type: 'plan', entries: [1] }],
    [
      'plan_update',
      { plan: { type: 'markdown', markdown: '# a' } },
      { type: 'plan', entries: { type: 'markdown', markdown: '# a' } },
    ],
    ['usage_update', { used: 1, size: 2 }, { type: 'usage', used: 1, size: 2, cost: null }],
    [
      'usage_update',
      { used: 1, size: 2, cost: { amount: 0.5, currency: 'USD' } },
      { type: 'usage', used: 1, size: 2, cost: 0.5 },
    ],
    [
      'usage_update',
      { used: 1, size: 2, cost: { amount: 0.5, currency: 'EUR' } },
      { type: 'usage', used: 1, size: 2, cost: null },
    ],
    ['session_info_update', { title: 'A' }, { type: 'title', title: 'A' }],
    ['session_info_update', { title: null }, { type: 'title', title: null }],
    ['session_info_update', { updatedAt: 'now' }, { type: 'other', name: 'session_info_update' }],
    ['current_mode_update', { currentModeId: 'ask' }, { type: 'mode', mode: 'ask' }],
    [
      'available_commands_update',
      { availableCommands: [{ name: 'init' }, { name: '/review' }, { name: 7 }, null] },
      { type: 'commands', names: ['init', 'review'] },
    ],
    ...['available_commands_update', 'config_option_update', 'plan_removed', 'toString', 'of_the_future'].map(
      name => [name, { content: text('no') }, { type: 'other', name }] as const,
    ),
    ...[
      'notice',
      'compaction_update',
      'compaction_summary_chunk',
      'subagent_update',
      'session_message',
      'session_message_chunk',
    ].map(name => {
      const update = { content: text('news') }
      return [name, update, { type: 'aside', name, update }] as const
    }),
  ]
  it.each(cases)('is read: %s', (sessionUpdate, fields, heard) => {
    expect(hear({ sessionUpdate, ...fields })).toEqual(heard)
  })

  it.each(['tool_call', 'tool_call_update'])('changes only the fields that it names: %s', name => {
    const whole = {
      toolCallId: 'c',
      name: 'read_file',
      title: 'Read a.ts',
      kind: 'read',
      status: 'completed',
      rawInput: { path: 'a.ts' },
      rawOutput: 'text',
      content: [{ type: 'content', content: text('text') }, 'no content'],
      locations: [{ path: 'a.ts', line: 3 }],
    }
    expect(hear({ sessionUpdate: name, ...whole })).toEqual({
      type: 'call',
      call: {
        callId: 'c',
        name: 'read_file',
        title: 'Read a.ts',
        kind: 'read',
        status: 'completed',
        input: { path: 'a.ts' },
        output: 'text',
        content: [{ type: 'content', content: text('text') }],
        locations: [{ path: 'a.ts', line: 3 }],
      },
    })
    const nothing = Object.fromEntries(Object.keys(whole).map(key => [key, null]))
    expect(hear({ sessionUpdate: name, ...nothing, toolCallId: 'c' })).toEqual({
      type: 'call',
      call: { callId: 'c' },
    })
    expect(hear({ sessionUpdate: name, ...nothing })).toEqual({ type: 'other', name })
  })

  it('takes the name of a tool from the field of its agent', () => {
    const call = { sessionUpdate: 'tool_call', toolCallId: 'c', _meta: { claudeCode: { toolName: 'Bash' } } }
    expect(hear(call)).toMatchObject({ call: { name: 'Bash' } })
    expect(hear({ ...call, name: 'shell' })).toMatchObject({ call: { name: 'shell' } })
  })

  it('is read with any of its fields missing or wrong', () => {
    const call = {
      toolCallId: 'c',
      title: 't',
      status: 'completed',
      content: [{ type: 'content', content: text('a') }],
    }
    const whole = [...cases.map(([name, fields]) => [name, fields] as const), ['tool_call', call] as const]
    for (const [sessionUpdate, fields] of whole) {
      for (const key of Object.keys(fields)) {
        for (const wrong of [
          undefined,
          null,
          0,
          'x',
          [],
          [null],
          {},
          { type: 'text' },
          { type: 'resource' },
        ]) {
          const { type } = hear({ sessionUpdate, ...fields, [key]: wrong })
          expect(type, `${sessionUpdate} with ${key}: ${JSON.stringify(wrong)}`).toBeTypeOf('string')
        }
      }
    }
    expect(hear({ sessionUpdate: 'agent_message_chunk' })).toEqual({
      type: 'other',
      name: 'agent_message_chunk',
    })
    for (const nothing of [undefined, null, 1, 'x', [], {}, { sessionUpdate: 1 }])
      expect(hear(nothing)).toEqual({ type: 'other', name: '' })
  })

  it('is read whatever it is, and the result can be stored', () => {
    fc.assert(
      fc.property(fc.oneof(bentUpdate, anyUpdate, fc.jsonValue(), fc.anything()), update => {
        const heard = hear(update)
        if (heard.type !== 'answer' && heard.type !== 'user') return
        prepareMessages([{ role: 'user', content: [heard.block] }])
      }),
      { numRuns: 300 },
    )
  })
})
