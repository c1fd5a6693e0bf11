import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mostCharacters, splitAnswer } from '../../../src/channels/discord/split-answer.ts'

/** Texts with everything that a cut can break: fences, nested fences, long words, pairs, white space. */
const piece = fc.oneof(
  { weight: 6, arbitrary: fc.stringMatching(/^[a-z]{1,12}$/) },
  { weight: 4, arbitrary: fc.constantFrom(' ', '\n', '\n\n', '  ', '\t') },
  { weight: 2, arbitrary: fc.constantFrom('😀', '👩‍👩‍👧', '\u{20bb7}', 'é') },
  {
    weight: 3,
    arbitrary: fc.constantFrom('\n```ts\n', '\n```\n', '\n````md\n', '\n````\n', '\n~~~\n', '`x`', '```'),
  },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 90 }).map(n => 'w'.repeat(n)) },
)
const texts = fc
  .array(piece, { maxLength: 120 })
  .map(pieces => pieces.join(''))
  // A longer line after a marker may be cut, and its rest would count as visible.
  .filter(text => !/^ {0,3}(?:`{3,}|~{3,}).{9,}$/m.test(text))
const limits = fc.integer({ min: 70, max: 200 })

/** A reader of fences that shares nothing with the code under test. */
function endsInFence(part: string): boolean {
  let open = ''
  for (const line of part.split('\n')) {
    const trimmed = line.replace(/^ {0,3}/, '')
    const run = /^(`+|~+)/.exec(trimmed)?.[0] ?? ''
    if (run.length < 3 || run.length > 20 || trimmed.slice(run.length).includes('`')) continue
    if (/^[`~]/.test(trimmed.slice(run.length))) continue
    if (open === '') open = run
    else if (run.startsWith(open) && trimmed.slice(run.length).trim() === '') open = ''
  }
  return open !== ''
}

/** The visible characters, without white space and without the characters of fences. */
function visible(text: string): string {
  return text.replaceAll(/^ {0,3}(?:`{3,}|~{3,}).*$|\s|`{3,}|~{3,}/gm, '')
}

describe('the parts of an answer', () => {
  it('are at most as long as the limit and never empty', () => {
    fc.assert(
      fc.property(texts, limits, (text, limit) => {
        for (const part of splitAnswer(text, limit)) {
          expect(part.length).toBeLessThanOrEqual(limit)
          expect(part.trim()).not.toBe('')
        }
      }),
    )
  })
  it('have every fence closed', () => {
    fc.assert(
      fc.property(texts, limits, (text, limit) => {
        for (const part of splitAnswer(text, limit)) expect(endsInFence(part), part).toBe(false)
      }),
    )
  })
  it('contain every visible character once, in order', () => {
    fc.assert(
      fc.property(texts, limits, (text, limit) => {
        expect(visible(splitAnswer(text, limit).join('\n'))).toBe(visible(text))
      }),
    )
  })
  it('do not begin with a marker that was in the middle of a line', () => {
    const long = 'w'.repeat(58)
    expect(splitAnswer(`one two \`\`\`😀${long}`, 70)).toEqual(['one', `two \`\`\`😀${long}`])
    for (const text of [
      `${'w'.repeat(70)}\`\`\`${long}`,
      `one ~~~${long}${long}`,
      `one   \`\`\`${long}${long}`,
    ]) {
      const parts = splitAnswer(text, 70)
      expect(parts.length).toBeGreaterThan(1)
      for (const part of parts) expect(part).not.toMatch(/^ {0,3}(?:`{3}|~{3})/)
      expect(parts.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''))
    }
  })
  it('break no word that fits into a message, and no surrogate pair', () => {
    const words = fc.array(fc.stringMatching(/^[a-z😀]{1,60}$/u), { maxLength: 60 })
    fc.assert(
      fc.property(words, limits, (given, limit) => {
        const parts = splitAnswer(given.join(' '), limit)
        expect(parts.flatMap(part => part.split(/\s+/)).filter(Boolean)).toEqual(given)
        for (const part of parts) expect(part.isWellFormed()).toBe(true)
      }),
    )
  })
  it('stay as they are while the text grows, except the last one', () => {
    fc.assert(
      fc.property(texts, limits, fc.nat(), (text, limit, at) => {
        const shorter = splitAnswer(text.slice(0, at % (text.length + 1)), limit).slice(0, -1)
        expect(splitAnswer(text, limit).slice(0, shorter.length)).toEqual(shorter)
      }),
      { numRuns: 1_000 },
    )
  })
  it('are one part for a text of exactly 2,000 characters', () => {
    const text = 'ab '
      .repeat(700)
      .slice(0, mostCharacters - 1)
      .trimEnd()
      .padEnd(mostCharacters, 'x')
    expect(splitAnswer(text)).toEqual([text])
    expect(splitAnswer(`${text}y`)).toHaveLength(2)
  })
  it('cut a word that is longer than a message between characters', () => {
    const parts = splitAnswer('😀'.repeat(1_500))
    expect(parts.join('')).toBe('😀'.repeat(1_500))
    for (const part of parts) expect(part.isWellFormed()).toBe(true)
  })
  it('reopen a fence with its language, and do not begin with an empty one', () => {
    const code = `${'x = 1\n'.repeat(20)}`
    const [first, second] = splitAnswer(`Look:\n\`\`\`py\n${code}\`\`\`\nDone.`, 100)
    expect(first).toMatch(/^Look:\n```py\n[^`]*\n```$/)
    expect(second).toMatch(/^```py\nx = 1\n/)
    const exact = splitAnswer(`\`\`\`\n${'y'.repeat(60)}\n\`\`\`\nThe end of it, in some words.`, 90)
    expect(exact.join('|')).not.toMatch(/```\n```/)
  })
})
