import { describe, expect, it } from 'vitest'
import { contextFacts, summaryText, windowText } from '../../../src/cli/answer/answer-notes.ts'

describe('notes about an answer', () => {
  it('say that omitted messages are kept', () => {
    expect(windowText(14)).toBe('window: 14 older messages were left out of this call. All are kept.')
    expect(windowText(1)).toBe('window: 1 older message was left out of this call. All are kept.')
    expect(summaryText(38, 610, 'made')).toBe('summary: 38 messages are now 610 tokens. All are kept.')
    const tokens = {
      system: 0,
      notes: 0,
      summary: 0,
      notice: 0,
      overhead: 0,
      messages: 9,
      total: 9,
      budget: 10,
    }
    const left = [
      { reason: 'window', messages: 3, tokens: 1 },
      { reason: 'summarised', messages: 4, tokens: 1 },
      { reason: 'max_messages', messages: 2, tokens: 1 },
    ] as const
    expect(contextFacts({ type: 'context', step: 1, tokens, left, older: 10, cut: [] })).toEqual({
      used: 9,
      budget: 10,
      leftOut: 15,
      summarised: 4,
    })
  })
})
