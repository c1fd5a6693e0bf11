import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/core/json.ts'
import type { NewMessage } from '../../src/core/message.ts'
import { pathOf } from '../../src/core/path.ts'
import { beginTurn } from '../../src/recorder/begin-turn.ts'
import { keepToolResults } from '../../src/recorder/keep-tool-results.ts'
import { place, user } from './place.ts'

const result = (output: Json, more: object = {}): NewMessage => ({
  role: 'tool_result',
  content: [{ type: 'tool_result', callId: 'c1', name: 'read', output, ...more }],
})
const kept = (message: NewMessage) => message.content[0] as unknown as { output: Json; metadata?: object }

describe('keepToolResults', () => {
  it('keeps results in full by default', () => {
    const message = result('x'.repeat(100_000))
    expect(keepToolResults(message, 'full')).toBe(message)
    expect(keepToolResults(user('plain'), 'metadata')).toEqual(user('plain'))
  })

  it('truncates results to a number of characters, and marks them (S0-11)', () => {
    expect(kept(keepToolResults(result('0123456789abc', { isError: true }), { truncate: 10 }))).toEqual({
      type: 'tool_result',
      callId: 'c1',
      name: 'read',
      isError: true,
      output: '0123456789\n[cut: 3 more characters]',
      metadata: { kept: { policy: 'truncate', characters: 13, kept: 10 } },
    })
    const short = result('0123456789')
    expect(kept(keepToolResults(short, { truncate: 10 }))).toEqual(kept(short))
  })

  it('truncates structured results as JSON, never in the middle of a character', () => {
    expect(kept(keepToolResults(result({ lines: [1, 2, 3] }), { truncate: 12 })).output).toBe(
      '{"lines":[1,\n[cut: 5 more characters]',
    )
    expect(kept(keepToolResults(result('ab🧵cd'), { truncate: 3 })).output).toBe(
      'ab\n[cut: 4 more characters]',
    )
  })

  it('keeps only the size of results, with the metadata of the caller (S0-11)', () => {
    const message = result('secret', { metadata: { ms: 12 } })
    expect(kept(keepToolResults(message, 'metadata'))).toMatchObject({
      callId: 'c1',
      output: '[not kept: 6 characters]',
      metadata: { ms: 12, kept: { policy: 'metadata', characters: 6 } },
    })
  })

  it('drops the copy in the metadata of an agent of another program', () => {
    const shown = { acp: { content: [{ type: 'content', content: { type: 'text', text: 'secret' } }] } }
    for (const policy of ['metadata', { truncate: 2 }] as const)
      expect(JSON.stringify(keepToolResults(result('secret', { metadata: shown }), policy))).not.toContain(
        'secret',
      )
  })

  it.each(['live', 'at_once'] as const)('applies the policy of the conversation (%s)', async mode => {
    const { store, branch, id, clock } = await place()
    await store.updateConversation(id, { toolResults: { truncate: 4 } })
    const turn = await beginTurn(store, branch, { words: [user('q')], mode }, clock)
    const call = { type: 'tool_call', callId: 'c1', name: 'read', input: { path: '/a/long/path' } } as const
    await turn.add([{ role: 'assistant', content: [call] }])
    await turn.add([result('a long result')])
    const { head } = await turn.end('complete')
    const [, asked, answered] = await pathOf(store, head!)
    expect(asked?.content).toEqual([call])
    expect(answered?.content).toMatchObject([
      { output: 'a lo\n[cut: 9 more characters]', metadata: { kept: { kept: 4 } } },
    ])
  })
})
