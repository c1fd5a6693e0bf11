import { describe, expect, it } from 'vitest'
import { BREAK, LOWER, letterOf, UPPER } from '../../../src/core/search/letters.ts'

describe('letterOf', () => {
  /** These code points are classified without patterns. */
  it('agrees with Unicode about Latin-1, dashes and quotes', () => {
    for (let codePoint = 0xc0; codePoint <= 0xff; codePoint++) {
      const char = String.fromCodePoint(codePoint)
      const base = char.normalize('NFKD').toLowerCase().replace(/\p{M}/gu, '').replace('ß', 'ss')
      const expected = /\p{L}/u.test(char)
        ? { kind: /\p{Lu}/u.test(char) ? UPPER : LOWER, text: base }
        : { kind: BREAK, text: '' }
      expect([char, letterOf(codePoint)]).toEqual([char, expected])
    }
    for (let codePoint = 0x2010; codePoint <= 0x2027; codePoint++) {
      expect(String.fromCodePoint(codePoint)).toMatch(/^\p{P}$/u)
      expect(letterOf(codePoint)).toEqual({ kind: BREAK, text: '' })
    }
  })
})
