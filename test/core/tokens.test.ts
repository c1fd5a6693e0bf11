import { describe, expect, it } from 'vitest'
import { asBlock, type Block } from '../../src/core/block.ts'
import { estimateTokens, mediaTokens } from '../../src/core/tokens.ts'

describe('estimateTokens', () => {
  it.each([
    ['', 0],
    ['a', 1],
    ['abcd', 1],
    ['abcde', 2],
    ['👋', 1],
  ])('counts %j as characters / 4, rounded up', (text, tokens) => {
    expect(estimateTokens(text)).toBe(tokens)
    expect(estimateTokens([{ type: 'text', text }])).toBe(tokens)
  })

  it('rounds once for all blocks of a message', () => {
    expect(
      estimateTokens([
        { type: 'text', text: 'a' },
        { type: 'thinking', text: 'b' },
      ]),
    ).toBe(1)
  })

  const input = { path: 'a.ts' } // 15 characters of JSON
  it.each<[string, Block, number]>([
    [
      'the name and the input of a tool call',
      { type: 'tool_call', callId: 'c', name: 'read_file', input },
      6,
    ],
    ['an output that is text', { type: 'tool_result', callId: 'c', output: 'x'.repeat(8) }, 2],
    ['an output that is JSON', { type: 'tool_result', callId: 'c', output: [1, 2, 3] }, 2],
    ['an output of nothing', { type: 'tool_result', callId: 'c', output: null }, 1],
    ['a block of an unknown type, as JSON', asBlock({ type: 'x' }), 3],
  ])('counts %s', (_, block, tokens) => {
    expect(estimateTokens([block])).toBe(tokens)
  })

  it.each(['image', 'audio', 'video', 'file'] as const)('counts a constant for %s of any size', type => {
    expect(estimateTokens([{ type, mime: 'a/b', data: 'x'.repeat(1_000_000) }])).toBe(mediaTokens)
    expect(
      estimateTokens([
        { type, mime: 'a/b', url: 'https://example.com' },
        { type: 'text', text: 'abcd' },
      ]),
    ).toBe(mediaTokens + 1)
  })

  it('counts 0 for no blocks', () => {
    expect(estimateTokens([])).toBe(0)
  })
})
