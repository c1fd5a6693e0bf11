import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isSimple, mayOccur } from '../../../src/core/search/glance.ts'
import { findTerm } from '../../../src/core/search/match.ts'
import { parseQuery, type Term } from '../../../src/core/search/query.ts'
import { tokenize } from '../../../src/core/search/tokenize.ts'
import { processorTimer } from '../../support/processor-time.ts'

const pieces = [
  'foo',
  'Foo',
  'FOO',
  'Bar',
  'bar',
  's',
  '1',
  '22',
  '_',
  '-',
  '.',
  ' ',
  '\n',
  '\u2014',
  '\u2019',
]
const text = fc.array(fc.constantFrom(...pieces, 'x'.repeat(40)), { maxLength: 25 }).map(all => all.join(''))
const termOf = (query: string): Term => parseQuery(query, new Date(0)).all[0]!
const terms = [
  ...['"foo bar"', '"foo b*"', '"foobar foo"', '"foo 1 bar"', '"bar foo bar"', '"s 22"', 'foobar', 'fo*'],
  ...[`"foo ${'x'.repeat(70)} bar"`, '"café bar"', '"日本 foo"'],
].map(termOf)

/** Texts that contain a term, and those of them that `rulesOut` would exclude. */
function overlooked(rulesOut: (text: string, term: Term) => boolean): { held: number; wrong: number } {
  const seen = { held: 0, wrong: 0 }
  fc.assert(
    fc.property(text, fc.constantFrom(...terms), (source, term) => {
      if (findTerm(tokenize(source), term).length === 0) return
      seen.held++
      if (rulesOut(source, term)) seen.wrong++
    }),
    { numRuns: 6_000, seed: 20261116 },
  )
  return seen
}

describe('mayOccur', () => {
  it('never rules out a term that occurs', () => {
    const { held, wrong } = overlooked((source, term) => isSimple(source) && !mayOccur(source, term))
    expect(held).toBeGreaterThan(100)
    expect(wrong).toBe(0)
  })
  it('would rule out terms without joiners and separators in the pattern (negative control)', () => {
    const naive = ({ parts }: Term) => new RegExp(parts.join(' '), 'i')
    expect(overlooked((source, term) => !naive(term).test(source)).wrong).toBeGreaterThan(10)
  })
  it('rules out words that are apart, in another order or missing', () => {
    const phrase = termOf('"error function"')
    for (const source of [
      'error in a function',
      'function error',
      'error',
      'errors function',
      'error 1 function',
    ])
      expect(mayOccur(source, phrase)).toBe(false)
    for (const source of ['an error, function', 'ERROR_FUNCTION', 'errorFunction', 'er-ror\n"function"'])
      expect(mayOccur(source, phrase)).toBe(true)
  })
  it('is used for simple texts only', () => {
    expect(isSimple('a \u2014 b\u2019s')).toBe(true)
    for (const source of ['é', '日本', 'foo\u001b[1mbar', 'a\u00adb']) expect(isSimple(source)).toBe(false)
  })
  it('does not rule out terms that a pattern cannot express', () => {
    expect(mayOccur('nothing of it', termOf(`"foo ${'x'.repeat(70)}"`))).toBe(true)
  })
  it('rules out letters beyond ASCII', () => {
    expect(mayOccur('nothing of foo', termOf('"日本 foo"'))).toBe(false)
    // Folded letters may be ASCII.
    expect(mayOccur('Strasse', termOf('Straße'))).toBe(true)
  })
  it('is fast for a hostile phrase in a hostile text', () => {
    const phrase = termOf(`"${'a '.repeat(127)}b"`)
    const took = processorTimer()
    expect(mayOccur('a '.repeat(128_000), phrase)).toBe(false)
    expect(took()).toBeLessThan(5_000)
  })
})
