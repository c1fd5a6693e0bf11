import { describe, expect, it } from 'vitest'
import { withoutMarkup } from '../../src/core/without-markup.ts'

describe('a text without the marks of Markdown', () => {
  it.each([
    ['# Plan: **two** [steps](https://example.com)', 'Plan: two steps'],
    ['***all*** and ~~none~~, _so_ to __say__', 'all and none, so to say'],
    ['> quoted\n> more', 'quoted\nmore'],
    ['run `a*b*c` *now*', 'run a*b*c now'],
    ['so:\n```ts\nreload()\n```\nend', 'so:\n\nreload()\n\nend'],
    ['| a | b |\n|---|--:|\n| 1 | 2 |', ' a  ·  b \n\n 1  ·  2 '],
    ['above\n---\nbelow', 'above\n\nbelow'],
  ])('of %j', (text, plain) => {
    expect(withoutMarkup(text)).toBe(plain)
  })

  it.each([
    'a * b * c',
    '2*3*4 = 24',
    'snake_case_name and another_one',
    'use *args and **kwargs',
    'from ~/a to ~/b',
    '#hashtag, C#, issue #12',
    'a[0](x y)',
  ])('keeps %j', text => {
    expect(withoutMarkup(text)).toBe(text)
  })

  it('takes linear time, whatever opens and never closes', () => {
    for (const mark of ['*a ', '_a ', '[', '`', '- ', '|--', '***', '~~a', '![']) {
      const began = performance.now()
      withoutMarkup(mark.repeat(20_000))
      expect(performance.now() - began, mark).toBeLessThan(2_000)
    }
  })
})
