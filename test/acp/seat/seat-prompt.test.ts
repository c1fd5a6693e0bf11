import { expect, it } from 'vitest'
import { promptEndOf } from '../../../src/acp/seat/seat-prompt.ts'

it('reads the counts of a prompt that can be right, and leaves out the others', () => {
  const usage = {
    inputTokens: 7,
    outputTokens: 3.4,
    cachedReadTokens: -1,
    cachedWriteTokens: '2',
    thoughtTokens: 1e13,
  }
  expect(promptEndOf({ stopReason: 'end_turn', usage })).toEqual({
    stop: 'end_turn',
    usage: { input: 7, output: 3 },
  })
  expect(promptEndOf({ stopReason: 'end_turn', usage: { inputTokens: Number.NaN } })).toEqual({
    stop: 'end_turn',
  })
})
