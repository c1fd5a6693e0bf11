import { describe, expect, it } from 'vitest'
import { receiptLine } from '../../../src/cli/ask/receipt.ts'
import { memoryOutput } from '../memory-output.ts'

describe('the receipt', () => {
  it('shows the cost, and leaves an unknown price out', () => {
    const facts = { message: 't4m6xe', model: 'anthropic/claude-sonnet-4-5', cost: 0.05 }
    const usage = { input: 74_012, cacheRead: 69_000, output: 1_204 }
    const context = { used: 74_000, limit: 200_000 }
    expect(receiptLine({ ...facts, usage, context }, memoryOutput())).toBe(
      'saved t4m6xe · sonnet-4.5 · 74k in (69k cached), 1.2k out · $0.05 · context 37%',
    )
    expect(
      receiptLine({ ...facts, message: null, usage: {}, cost: null, context: null }, memoryOutput()),
    ).toBe('not kept · sonnet-4.5')
  })
})
