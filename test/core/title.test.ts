import { describe, expect, it } from 'vitest'
import { titleFrom } from '../../src/core/title.ts'
import { processorTimer } from '../support/processor-time.ts'

const graphemes = (text: string) =>
  [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)].length

describe('titleFrom', () => {
  it('keeps short text unchanged', () => {
    expect(titleFrom('why is the build red?')).toBe('why is the build red?')
  })

  it('joins lines and removes control characters', () => {
    expect(titleFrom('  why\r\n\tis\u2028the \u001b[31mbuild\u0007 red?\u0000 ')).toBe(
      'why is the [31mbuild red?',
    )
  })

  it.each(['', ' \n\t ', '\u0000\u001b', '\u00a0\u3000'])('returns null for %j', text => {
    expect(titleFrom(text)).toBeNull()
  })

  it('keeps 60 characters and cuts 61 to 59 and an ellipsis', () => {
    expect(titleFrom('x'.repeat(60))).toBe('x'.repeat(60))
    expect(titleFrom('x'.repeat(61))).toBe(`${'x'.repeat(59)}…`)
  })

  it('leaves no space before the ellipsis', () => {
    expect(titleFrom(`${'x'.repeat(58)} ${'y'.repeat(30)}`)).toBe(`${'x'.repeat(58)}…`)
  })

  it.each([
    ['a family', '👨‍👩‍👧‍👦'],
    ['combining marks', 'e\u0301\u0323'],
    ['a flag', '🇳🇵'],
    ['a skin tone', '👋🏽'],
    ['a letter beyond the basic plane', '𝒳'],
  ])('counts %s as one and never cuts it', (_, grapheme) => {
    expect(titleFrom(grapheme.repeat(60))).toBe(grapheme.repeat(60))
    expect(titleFrom(grapheme.repeat(61))).toBe(`${grapheme.repeat(59)}…`)
  })

  it('includes the mark after the last letter', () => {
    const line = `${'x'.repeat(59)}e\u0301`
    expect(titleFrom(line)).toBe(line)
    expect(titleFrom(`${line}x`)).toBe(`${'x'.repeat(59)}…`)
    expect(titleFrom(`${'x'.repeat(58)}e\u0301yz`)).toBe(`${'x'.repeat(58)}e\u0301…`)
  })

  it('replaces a lone surrogate, so that every engine can store it', () => {
    expect(titleFrom('a\ud800b')).toBe('a\ufffdb')
  })

  it('finds text after a page of blank lines', () => {
    expect(titleFrom(`${'\n'.repeat(5_000)}hello`)).toBe('hello')
  })

  it('is fast on megabytes and never longer than the limit', () => {
    const took = processorTimer()
    const title = titleFrom('wörd '.repeat(2_000_000))!
    expect(graphemes(title)).toBeLessThanOrEqual(60)
    expect(took()).toBeLessThan(1_000)
  })
})
