import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findTerm } from '../../../src/core/search/match.ts'
import { parseQuery } from '../../../src/core/search/query.ts'
import { score } from '../../../src/core/search/rank.ts'
import { tokenize } from '../../../src/core/search/tokenize.ts'
import { processorTimer } from '../../support/processor-time.ts'

const rank = (query: string, ...texts: string[]) => score(texts, parseQuery(query, new Date(0)))

describe('the score', () => {
  it('grows with the occurrences of a term, with diminishing increments', () => {
    const once = rank('foo', 'foo x x x')
    const twice = rank('foo', 'foo x foo')
    const again = rank('foo', 'x foo foo')
    expect(twice).toBeGreaterThan(once)
    expect(again).toBe(twice)
    expect(rank('foo', 'foo '.repeat(50))).toBeLessThan(1)
  })
  it('prefers two words to many occurrences of one', () => {
    expect(rank('foo bar', 'foo bar')).toBeGreaterThan(rank('foo bar', 'foo foo foo'))
  })
  it('prefers the shorter of two messages', () => {
    expect(rank('foo', 'foo')).toBeGreaterThan(rank('foo', `foo ${'x '.repeat(500)}`))
  })
  it('counts all texts of a message, including phrases and prefixes', () => {
    expect(rank('foo', 'foo x', 'foo y')).toBeGreaterThan(rank('foo', 'foo x', 'bar y'))
    expect(rank('"a b"', 'a b a b')).toBeGreaterThan(rank('"a b"', 'a b b a'))
    expect(rank('fo*', 'foo form')).toBeGreaterThan(rank('fo*', 'foo norm'))
  })
  it('ignores terminal colours between the words', () => {
    expect(rank('error', '\u001b[31merror\u001b[0m')).toBeGreaterThan(0)
    expect(rank('foobar', 'foo\u001b[1mbar')).toBeGreaterThan(0)
  })
  it('is 0 if nothing occurs or nothing is wanted', () => {
    expect(rank('foo', 'bar')).toBe(0)
    expect(rank('role:user', 'bar')).toBe(0)
    expect(rank('foo')).toBe(0)
  })
  it('equals the documented sum', () => {
    expect(rank('foo', `foo foo ${'x'.repeat(992)}`)).toBeCloseTo(2 / (2 + 1.2), 12)
    expect(rank('foo bar', 'foo bar')).toBeCloseTo(2 / (1 + 1.2 * (0.25 + (0.75 * 7) / 1_000)), 12)
  })
  it('counts like tokens, also without tokenizing', () => {
    const pieces = [
      'foo',
      'Foo',
      'FOO',
      'Bar',
      'bar',
      's',
      'S',
      '1',
      '_',
      '-',
      '.',
      ' ',
      '\u2014',
      '\u2019',
      'é',
      'x'.repeat(40),
    ]
    const text = fc.array(fc.constantFrom(...pieces), { maxLength: 25 }).map(all => all.join(''))
    const query = fc.constantFrom(
      'foo',
      'fo*',
      'foobar',
      'foobarfoo',
      'bar1',
      'foos',
      'x'.repeat(64),
      'x'.repeat(80),
      '"foo bar"',
    )
    let counted = 0
    fc.assert(
      fc.property(text, query, (source, asked) => {
        const parsed = parseQuery(asked, new Date(0))
        const count = findTerm(tokenize(source), parsed.all[0]!).length
        counted += count
        const expected = count / (count + 1.2 * (0.25 + (0.75 * source.length) / 1_000))
        expect(score([source], parsed)).toBeCloseTo(expected, 12)
      }),
      { numRuns: 2_000 },
    )
    expect(counted).toBeGreaterThan(100)
  })
  it('is fast for two thousand messages', () => {
    const query = parseQuery('error store', new Date(0))
    const message =
      `The store reported an error in src/stores/openStore.ts: ${'some words about it '.repeat(7)}`.slice(
        0,
        200,
      )
    const time = () => {
      const took = processorTimer()
      for (let i = 0; i < 2_000; i++) score([message, `${i}`], query)
      return took()
    }
    // The best of several runs, to exclude other load on the machine. 3 ms on the author's machine.
    expect(Math.min(...Array.from({ length: 10 }, time))).toBeLessThan(100)
  })
})
