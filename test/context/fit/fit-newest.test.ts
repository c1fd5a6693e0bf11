import { describe, expect, it } from 'vitest'
import { fit } from '../../../src/context/fit/fit.ts'
import { ContextLengthError } from '../../../src/core/errors.ts'
import type { Message } from '../../../src/core/message.ts'
import { assistant, call, lines, pathOf, result, results, text, thought, user } from '../path.ts'

const long = (tokens: number) => 'word '.repeat((tokens * 4) / 5)
/** A turn with this many steps, each with a result of this many tokens. */
const turn = (steps: number, tokens: number) => [
  user('do it'),
  ...Array.from({ length: steps }, (_, i) => [
    assistant([text(`step ${i}`), call(`c${i}`)]),
    results(result(`c${i}`, long(tokens))),
  ]).flat(),
]
const send = (path: readonly Message[], limit: number, window: object = {}) =>
  fit(path, { limit, threshold: 1, ...window })

describe('the newest question', () => {
  it('is always in the context, with its exchange (S2-37)', () => {
    const path = pathOf(user(long(50)), assistant(long(50)), ...turn(2, 40))
    const { messages, left } = send(path, 140)
    expect(lines(messages)).toHaveLength(6)
    expect(lines(messages)[1]).toBe('user: do it')
    expect(left).toEqual([{ reason: 'window', messages: 2, tokens: 100 }])
  })

  it('is shortened if it is larger than the window, with a marker that says by how much', () => {
    const path = pathOf(user(long(5_000)))
    const { messages, cut, tokens } = send(path, 1_000)
    expect(tokens.total).toBeLessThanOrEqual(1_000)
    expect(tokens.total).toBeGreaterThan(950)
    const [words] = lines(messages)
    expect(words).toMatch(/^user: word word .*\n\[… 16\d\d\d characters cut …\]\n.*word $/s)
    expect(cut).toEqual([{ id: 'm0', tokensBefore: 5_000, tokensAfter: tokens.messages }])
  })

  it('is refused with numbers if not even its beginning fits', () => {
    const image = { type: 'image', mime: 'image/png', data: 'AAAA' } as const
    const refused = () => send(pathOf(user([image, text('what is this?')])), 900)
    expect(refused).toThrow(ContextLengthError)
    expect(refused).toThrow(expect.objectContaining({ limit: 900, needed: 1_004 }))
    expect(() => send(pathOf(user([image])), 10_000, { maxChars: 0 })).not.toThrow()
    expect(() => send(pathOf(user('a question')), 10_000, { maxChars: 5 })).toThrow(/5 characters/)
  })

  it('counts an image as 1,000 tokens, for any size', () => {
    const image = (data: string) => user([{ type: 'image', mime: 'image/png', data }])
    expect(send(pathOf(image('AAAA')), 5_000).tokens.messages).toBe(1_000)
    expect(send(pathOf(image('A'.repeat(100_000))), 5_000).tokens.messages).toBe(1_000)
  })
})

describe('an image in a tool result', () => {
  const shot = [
    { type: 'text', text: 'a screenshot' },
    { type: 'image', mimeType: 'image/png', data: 'A'.repeat(400_000) },
  ]
  const path = pathOf(user('look'), assistant([call('a')]), results(result('a', shot)), user('and?'))

  it('counts as an image, and displaces nothing', () => {
    const { messages, tokens } = send(path, 2_000)
    expect(messages).toHaveLength(4)
    expect(tokens.messages).toBeLessThan(1_020)
  })

  it('is replaced by its name if it does not fit, and is not cut', () => {
    const { messages } = send(path.slice(0, 3), 500)
    expect(messages[2]!.content[0]).toMatchObject({ output: 'a screenshot\n[image: image/png]' })
  })
})

describe('squeeze', () => {
  it('shortens a long result first, and nothing else', () => {
    const path = pathOf(
      user('look'),
      assistant([text(long(100)), call('a')]),
      results(result('a', long(2_000))),
    )
    const { messages, cut } = send(path, 600)
    expect(messages.slice(0, 2).map(({ content: blocks }) => blocks)).toEqual(
      path.slice(0, 2).map(({ content: blocks }) => blocks),
    )
    expect(lines(messages)[2]).toMatch(/a = "word .*\[… \d+ characters cut …\].*word "/)
    expect(cut.map(({ id }) => id)).toEqual(['m2'])
  })

  it('shortens the old results of a long turn before the newest messages', () => {
    const { cut, messages, left } = send(pathOf(...turn(20, 500)), 8_000, { keepRecent: 10 })
    expect(left).toEqual([])
    expect(cut.every(({ id }) => Number(id.slice(1)) <= 30)).toBe(true)
    expect(messages.slice(-10).every(({ content: blocks }) => !JSON.stringify(blocks).includes('cut'))).toBe(
      true,
    )
  })

  it('leaves out whole old steps of a long turn, never half of one', () => {
    const path = pathOf(...turn(300, 500))
    const { messages, left, tokens } = send(path, 10_000)
    expect(tokens.total).toBeLessThanOrEqual(10_000)
    expect(lines(messages)[1]).toBe('user: do it')
    expect(lines(messages).at(-2)).toBe('assistant: step 299 + call c299')
    expect(messages.slice(2).map(({ role }) => role)).toEqual(
      Array.from({ length: messages.length - 2 }, (_, i) => (i % 2 ? 'tool_result' : 'assistant')),
    )
    expect(left[0]!.messages).toBe(path.length - (messages.length - 1))
    expect(lines(messages)[0]).toContain(`${left[0]!.messages} older messages truncated`)
    expect(messages.slice(-10).every(({ content: blocks }) => !JSON.stringify(blocks).includes('cut'))).toBe(
      true,
    )
  })

  it('leaves out all steps except the last before it shortens a text', () => {
    const path = pathOf(user(long(100)), ...turn(3, 250).slice(1))
    const { messages, cut } = send(path, 400)
    expect(
      lines(messages)
        .slice(1)
        .map(line => line.slice(0, 20)),
    ).toEqual([`user: ${long(100).slice(0, 14)}`, 'assistant: step 2 + ', 'tool_result: c2 = "w'])
    expect(cut).toEqual([])
  })

  it('shortens texts, the oldest first and the question last', () => {
    const path = pathOf(
      user(long(600)),
      assistant([text(long(600)), call('a', { words: long(600) })]),
      results(result('a')),
    )
    const ids = (limit: number) => send(path, limit).cut.map(({ id }) => id)
    expect(ids(1_500)).toEqual(['m1'])
    expect(ids(900)).toEqual(['m0', 'm1'])
    const { messages } = send(path, 1_000)
    expect(messages[1]!.content[1]).toMatchObject({
      input: { words: expect.stringContaining('characters cut') },
    })
  })

  it('does not change signed thinking', () => {
    const signed = thought(long(400), 'sig')
    const path = pathOf(user('think'), assistant([signed, call('a')]), results(result('a', long(2_000))))
    const { messages } = send(path, 700)
    expect(messages[1]!.content[0]).toBe(signed)
    expect(() => send(path, 400)).toThrow(ContextLengthError)
  })

  it('cuts between characters, never within a surrogate pair', () => {
    for (let limit = 60; limit < 90; limit++) {
      const { messages } = send(pathOf(user('🧵'.repeat(1_000))), limit)
      expect(lines(messages)[0]!.isWellFormed()).toBe(true)
    }
  })

  it('ends within the budget by any counter, also with one token per character', () => {
    const path = pathOf(...turn(10, 300))
    for (const perToken of [1, 3, 8]) {
      const count = (blocks: readonly object[]) => Math.ceil(JSON.stringify(blocks).length / perToken)
      const { tokens } = fit(path, { limit: 4_000 }, {}, count)
      expect(tokens.total).toBeLessThanOrEqual(tokens.budget)
    }
  })
})

it('fits a turn of 150,000 steps without a stack overflow (R11)', () => {
  const [question, ...step] = pathOf(...turn(1, 10))
  const path = [question!, ...Array.from({ length: 150_000 }, () => step).flat()]
  const { messages, tokens } = send(path, 10_000)
  expect(tokens.total).toBeLessThanOrEqual(10_000)
  expect(lines(messages)[1]).toBe('user: do it')
})
