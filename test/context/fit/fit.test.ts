import { describe, expect, it } from 'vitest'
import { fit } from '../../../src/context/fit/fit.ts'
import { asBlock } from '../../../src/core/block.ts'
import type { MessageId } from '../../../src/core/ids.ts'
import { assistant, call, lines, pathOf, result, results, system, text, thought, user } from '../path.ts'

/** Questions and answers with this many tokens each. */
const talk = (count: number, tokens: number) =>
  pathOf(...Array.from({ length: count }, (_, i) => (i % 2 ? assistant : user)(`message ${i}`, tokens)))
const id = (name: string) => name as MessageId
const systemOf = (tokens: number) => 's'.repeat(tokens * 4)

describe('fit with a path that fits', () => {
  it('returns it unchanged: the same blocks in the same order, and nothing else (S2-41, S0-29)', () => {
    const path = pathOf(
      user('one'),
      assistant([call('a')]),
      results(result('a')),
      assistant('two'),
      user('three'),
    )
    const fitted = fit(path, { limit: 1_000 })
    expect(fitted.messages.map(({ role, id }) => [role, id])).toEqual(path.map(({ role, id }) => [role, id]))
    for (const [i, { content: blocks }] of fitted.messages.entries()) expect(blocks).toEqual(path[i]!.content)
    expect(fitted).toMatchObject({ left: [], cut: [] })
  })

  it('returns it unchanged at exactly 80 % of the window, and not one token above (S2-36)', () => {
    const path = talk(8, 10)
    expect(fit(path, { limit: 100 }).messages).toHaveLength(8)
    expect(fit(path, { limit: 99 }).left).toEqual([{ reason: 'window', messages: 2, tokens: 20 }])
  })

  it('does not change the path itself', () => {
    const path = talk(20, 100)
    const before = structuredClone(path)
    fit(path, { limit: 1_000 })
    expect(path).toEqual(before)
  })

  it('returns only the pinned texts for an empty path', () => {
    const fitted = fit([], { limit: 1_000 }, { system: 'Be kind.', notes: ['A note.'] })
    expect(lines(fitted.messages)).toEqual(['system: Be kind.', 'system: A note.'])
    expect(fit([], { limit: 1_000 }).messages).toEqual([])
  })
})

describe('fit with a path that does not fit', () => {
  it('drops 60K and keeps 35K of a limit of 100K, as in the origin document (S2-35, S2-37, S2-38)', () => {
    const old = [...Array.from({ length: 8 }, () => 1_250), 25_000, 25_000]
    const sizes = [...old, ...Array.from({ length: 10 }, () => 3_000)]
    const path = pathOf(...sizes.map((tokens, i) => (i % 2 ? assistant : user)(`message ${i}`, tokens)))
    const { messages, left, tokens } = fit(path, { limit: 100_000 }, { system: systemOf(5_000) })
    expect(left).toEqual([{ reason: 'window', messages: 10, tokens: 60_000 }])
    expect(messages.slice(2).map(message => message.id)).toEqual(path.slice(10).map(({ id }) => id))
    expect(tokens).toMatchObject({ system: 5_000, messages: 30_000, budget: 80_000 })
    expect(tokens.total - tokens.notice).toBe(35_000)
  })

  it('keeps the newest ten messages if they fit, and of more messages nearly all that fit (S2-37)', () => {
    const kept = (count: number, window: object) =>
      fit(talk(count, 100), { limit: 10_000, ...window }).messages.length - 1
    expect(kept(200, { maxTokens: 1_020 })).toBe(10)
    expect(kept(200, {})).toBeGreaterThan(60)
    expect(kept(200, { keepRecent: 78 })).toBe(78)
  })

  it('returns [system, notice, recent …] in order, with the system prompt once and first (S2-42, S2-43, S2-44)', () => {
    const fitted = fit(talk(12, 100), { limit: 600 }, { system: 'Be kind.' })
    expect(lines(fitted.messages)).toEqual([
      'system: Be kind.',
      'system: [Note: 8 older messages truncated to stay within token limit]',
      'user: message 8',
      'assistant: message 9',
      'user: message 10',
      'assistant: message 11',
    ])
  })

  it('counts the notice, and stays within the budget', () => {
    for (let limit = 300; limit < 1_500; limit += 7) {
      const { tokens } = fit(talk(13, 100), { limit }, { system: 'Be kind.', overhead: 20 })
      expect(tokens.total).toBeLessThanOrEqual(tokens.budget)
      const { system, notes, summary, notice, overhead, messages } = tokens
      expect(system + notes + summary + notice + overhead + messages).toBe(tokens.total)
    }
  })

  it('counts messages that were not read in the notice', () => {
    const fitted = fit(talk(4, 10), { limit: 1_000 }, { older: 96 })
    expect(lines(fitted.messages)[0]).toBe(
      'system: [Note: 96 older messages truncated to stay within token limit]',
    )
    expect(lines(fit(talk(12, 100), { limit: 500 }, { older: 96 }).messages)[0]).toContain('106 older')
  })

  it('reserves tokens for the answer, and obeys maxTokens', () => {
    const budget = (window: object) => fit([], { limit: 200_000, ...window }).tokens.budget
    expect(budget({})).toBe(160_000)
    expect(budget({ maxTokens: 100_000 })).toBe(100_000)
    expect(budget({ maxTokens: 100_000, reserveOutput: 8_000 })).toBe(92_000)
    expect(budget({ threshold: 0.5 })).toBe(100_000)
  })

  it.each([
    ['limit', [0, -5, Number.NaN]],
    ['maxTokens', [0, Number.NaN]],
    ['threshold', [0, -1, 80, Number.NaN]],
    ['reserveOutput', [-1, Number.NaN]],
    ['keepRecent', [-1, Number.NaN]],
    ['maxMessages', [-1, Number.NaN]],
    ['maxChars', [-1, Number.NaN]],
  ] as const)('refuses a window with an invalid %s', (field, values) => {
    for (const value of values) {
      expect(() => fit(talk(2, 10), { limit: 1_000, [field]: value })).toThrow(
        expect.objectContaining({ code: 'invalid', field: `window.${field}` }),
      )
    }
  })

  it('keeps only whole exchanges', () => {
    const path = pathOf(
      user('one', 10),
      assistant([call('a')], 10),
      results(result('a')),
      assistant('done', 50),
      user('two', 10),
      assistant('yes', 10),
    )
    const fitted = fit(path, { limit: 100, threshold: 0.9 })
    expect(lines(fitted.messages).slice(1)).toEqual(['user: two', 'assistant: yes'])
    expect(fitted.left).toEqual([{ reason: 'window', messages: 4, tokens: 73 }])
  })

  it('obeys maxMessages and maxChars, and reports which of them applied', () => {
    const path = talk(10, 10)
    const fewer = fit(path, { limit: 1_000, maxMessages: 5 })
    expect(fewer.left).toEqual([{ reason: 'max_messages', messages: 6, tokens: 60 }])
    expect(lines(fewer.messages).slice(1)).toHaveLength(4)
    const shorter = fit(path, { limit: 1_000, maxChars: 30 })
    expect(shorter.left).toEqual([{ reason: 'max_chars', messages: 8, tokens: 80 }])
  })

  it('leaves out exchanges that ended too long before the newest message, and keeps the newest', () => {
    const ages = [50, 50, 40, 20, 35, 1, 0]
    const path = talk(7, 10).map((message, i) => ({
      ...message,
      createdAt: new Date(1_000_000 - ages[i]! * 1_000),
    }))
    const fitted = fit(path, { limit: 1_000, maxAgeMs: 30_000 })
    expect(fitted.left).toEqual([{ reason: 'max_age', messages: 2, tokens: 20 }])
    expect(lines(fitted.messages).slice(1)).toEqual(lines(fit(path.slice(2), { limit: 1_000 }).messages))
    expect(lines(fit(path, { limit: 1_000, maxAgeMs: 1 }).messages).slice(1)).toEqual(['user: message 6'])
    expect(fit(path, { limit: 1_000, maxAgeMs: 50_000 }).left).toEqual([])
    expect(() => fit(path, { limit: 1_000, maxAgeMs: 0 })).toThrow('window.maxAgeMs: must be above 0')
  })

  it('uses the stored counts, unless it gets a counter (S2-40)', () => {
    const path = talk(4, 1_000)
    expect(fit(path, { limit: 10_000 }).tokens.messages).toBe(4_000)
    expect(fit(path, { limit: 10_000 }, {}, blocks => blocks.length).tokens.messages).toBe(4)
  })
})

describe('fit with pinned texts', () => {
  it('orders system prompt, notes, summary, notice and messages (S2-39)', () => {
    const path = talk(12, 100)
    const pinned = { system: 'Be kind.', notes: ['A note.'], summary: { text: 'They met.', last: id('m3') } }
    const fitted = fit(path, { limit: 600 }, pinned)
    expect(lines(fitted.messages)).toEqual([
      'system: Be kind.',
      'system: A note.',
      'system: Previous conversation summary: They met.',
      'system: [Note: 4 older messages truncated to stay within token limit]',
      'user: message 8',
      'assistant: message 9',
      'user: message 10',
      'assistant: message 11',
    ])
    expect(fitted.left).toEqual([
      { reason: 'summarised', messages: 4, tokens: 400 },
      { reason: 'window', messages: 4, tokens: 400 },
    ])
  })

  it('replaces the messages that a summary covers, also if they would fit, without a notice', () => {
    const summary = { text: 'They met.', last: id('m1') }
    const fitted = fit(talk(4, 10), { limit: 1_000 }, { summary, older: 7 })
    expect(lines(fitted.messages)).toEqual([
      'system: Previous conversation summary: They met.',
      'user: message 2',
      'assistant: message 3',
    ])
  })

  it('keeps the whole path after a summary that ends before it; the notice mentions the gap', () => {
    const summary = { text: 'They met.', last: id('elsewhere') }
    const fitted = fit(talk(2, 10), { limit: 1_000 }, { summary, older: 7 })
    expect(lines(fitted.messages)).toEqual([
      'system: Previous conversation summary: They met.',
      'system: [Note: 7 older messages truncated to stay within token limit]',
      'user: message 0',
      'assistant: message 1',
    ])
  })

  it('keeps the question and the later steps of an exchange that a summary covers in part', () => {
    const path = pathOf(
      user('a long task'),
      assistant([call('a')]),
      results(result('a')),
      assistant([call('b')]),
      results(result('b')),
    )
    const sent = (last: string) =>
      lines(fit(path, { limit: 1_000 }, { summary: { text: '…', last: id(last) } }).messages)
    const end = ['assistant: call b', 'tool_result: b = "result of b"']
    expect(sent('m2').slice(1)).toEqual(['user: a long task', ...end])
    expect(sent('m4').slice(1)).toEqual(['user: a long task', ...end])
    // A call stays with its result: a summary that ends between them covers neither.
    expect(sent('m1').slice(1)).toEqual(lines(fit(path, { limit: 1_000 }).messages))
  })

  it('counts pinned texts first, and throws if they alone are too long', () => {
    expect(() => fit(talk(2, 10), { limit: 100 }, { system: systemOf(100) })).toThrow(
      expect.objectContaining({ code: 'context_length', limit: 100, needed: 120 }),
    )
    expect(() => fit([], { limit: 100 }, { system: systemOf(100) })).toThrow(
      /100 tokens.* 80 of the window of 100/,
    )
  })
})

describe('the beginning of a context', () => {
  it('is a question: answers before the first one are left out', () => {
    const path = pathOf(assistant('Hello!'), system('Be brief.'), user('hi'), assistant('yes?'))
    const fitted = fit(path, { limit: 1_000 })
    expect(lines(fitted.messages)).toEqual([
      'system: [Note: 1 older messages truncated to stay within token limit]',
      'system: Be brief.',
      'user: hi',
      'assistant: yes?',
    ])
    expect(fitted.left).toEqual([{ reason: 'no_question', messages: 1, tokens: 2 }])
  })

  it('is the first message if there is no message of the user', () => {
    const path = pathOf(system('Go.'), assistant([call('a')]), results(result('a')))
    const { messages, left } = fit(path, { limit: 1_000 })
    expect(lines(messages)).toEqual(['system: Go.', 'assistant: call a', 'tool_result: a = "result of a"'])
    expect(left).toEqual([])
  })

  it('leaves out empty texts and unknown blocks', () => {
    const path = pathOf(
      user([text('look'), asBlock({ type: 'hologram', depth: 3 })]),
      assistant([text('  '), thought('hm')]),
      assistant('I see'),
      user(''),
    )
    const fitted = fit(path, { limit: 1_000 })
    expect(lines(fitted.messages)).toEqual(['user: look', 'assistant: I see'])
    expect(fitted.left).toEqual([])
  })
})
