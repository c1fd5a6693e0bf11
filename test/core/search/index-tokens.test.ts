import { describe, expect, it } from 'vitest'
import { pairName } from '../../../src/core/search/pairs.ts'
import { termOf } from '../../../src/core/search/term.ts'
import { indexTokens as index, indexTokensInSteps } from '../../../src/core/search/tokenize.ts'

const indexTokens = (texts: readonly string[]) => index(texts).tokens
const bytes = (texts: readonly string[]) => Buffer.byteLength(texts.join(''))
const numbered = (count: number) => Array.from({ length: count }, (_, i) => `w${i}`).join(' ')

describe('indexTokens', () => {
  it('returns distinct tokens in order of first appearance', () => {
    expect(indexTokens(['b a b fooBar', 'A c foo'])).toEqual(['b', 'a', 'foo', 'foobar', 'bar', 'c'])
  })
  it('returns none for a message without text', () => expect(indexTokens(['', '... \n'])).toEqual([]))
  it('reads the first 256 KiB of each text', () => {
    const filler = 'x '.repeat(131_072)
    expect(indexTokens([`${filler}late`, 'next'])).toEqual(['x', 'next'])
    expect(indexTokens([`${filler.slice(5)}late`, 'next'])).toEqual(['x', 'late', 'next'])
  })
  it('measures the 256 KiB in UTF-8 and cuts between characters', () => {
    expect(indexTokens([`${'\u00e9 '.repeat(87_381)}z`])).toEqual(['e', 'z'])
    expect(indexTokens([`${'\u00e9 '.repeat(87_382)}z`])).toEqual(['e'])
    expect(indexTokens([`${'- '.repeat(131_070)}-\u{10428}`])).toEqual([])
    expect(indexTokens([`${'- '.repeat(131_070)}\u{10428}`])).toEqual(['\u{10428}'])
  })
  it('returns at most 512 KiB, which PostgreSQL can store', () => {
    const texts = Array.from({ length: 8 }, (_, i) =>
      numbered(40_000).replaceAll('w', `word${'x'.repeat(i)}`),
    )
    const all = indexTokens(texts)
    expect(bytes(all)).toBeGreaterThan(512 * 1024 - 64 * 3)
    expect(bytes(all)).toBeLessThanOrEqual(512 * 1024)
    expect(indexTokens(texts)).toEqual(all)
  })
  it('pauses at long texts only', () => {
    const pauses = (texts: readonly string[]) => [...indexTokensInSteps(texts)].length
    expect(pauses(['short', 'x '.repeat(30_000)])).toBe(0)
    expect(pauses(['short', 'x '.repeat(40_000), 'x '.repeat(40_000)])).toBe(6)
  })
  it('measures the 512 KiB in UTF-8', () => {
    const han = (at: number) => String.fromCharCode(0x4e00 + (at % 20_000))
    const texts = [1, 3, 7, 9, 11].map(stride =>
      Array.from({ length: 20_000 }, (_, i) => han(i * stride)).join(''),
    )
    expect(bytes(indexTokens(texts.slice(0, 2)))).toBe((20_000 + 2 * 19_999) * 3 + 2 * 19_999 * 3)
    const all = bytes(indexTokens(texts))
    expect(all).toBeGreaterThan(500 * 1024)
    expect(all).toBeLessThanOrEqual(512 * 1024)
  })
})

describe('the pairs of indexTokens', () => {
  const pairs = (...texts: string[]) => index(texts).pairs

  it('contain those of every phrase that occurs in a text', () => {
    const found = pairs('the fooBar baz_qux 12:30 日本x', 'é a')
    for (const phrase of [
      'the foo',
      'the foobar',
      'foobar baz',
      'bar bazqux',
      'qux 12',
      '12 30',
      '本x',
      'E A',
    ])
      for (const pair of termOf(phrase)!.pairs) expect(found).toContain(pair)
    expect(termOf('the foobar baz')!.pairs).toHaveLength(2)
  })
  it('are of one text, and in order', () => {
    const [pair] = termOf('red panda')!.pairs
    expect(pairs('red', 'panda')).not.toContain(pair)
    expect(pairs('panda red')).not.toContain(pair)
    expect(pairs('red panda')).toEqual(new Set([pair]))
  })
  it('leave out letters of scripts without spaces, which are tokens of two letters', () => {
    expect(pairs('日本語')).toEqual(new Set())
    expect(termOf('日本語')!.pairs).toEqual([])
  })
  it('do not change, because indexes contain them', () => {
    expect(termOf('secure context')!.pairs).toEqual([27_436])
    expect(pairName(27_436)).toBe('=p2zm')
  })
  it('are 32,768 different ones at most, which a smallint takes', () => {
    const many = Array.from({ length: 8 }, (_, i) => numbered(40_000).replaceAll('w', `v${'x'.repeat(i)}`))
    const found = pairs(...many)
    expect(found.size).toBeLessThanOrEqual(32_768)
    for (const pair of found) expect(pair >= 0 && pair < 32_768).toBe(true)
  })
})
