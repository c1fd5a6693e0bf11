import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findTerm, matches } from '../../../src/core/search/match.ts'
import { parseQuery } from '../../../src/core/search/query.ts'
import { cutSnippet } from '../../../src/core/search/snippet.ts'
import { tokenize } from '../../../src/core/search/tokenize.ts'
import { processorTimer } from '../../support/processor-time.ts'

const cut = (texts: string | string[], query: string, length?: number) =>
  cutSnippet([texts].flat(), parseQuery(query, new Date(0)), length)
const marked = (texts: string | string[], query: string, length?: number) => {
  const { text, marks } = cut(texts, query, length)
  let shown = ''
  let at = 0
  for (const { start, end } of marks) {
    shown += `${text.slice(at, start)}[${text.slice(start, end)}]`
    at = end
  }
  return shown + text.slice(at)
}
const filler = (count: number) => 'lorem ipsum '.repeat(count).trim()

describe('cutSnippet', () => {
  it('shows a short text whole and marks every term', () => {
    expect(marked('The quick brown fox', 'fox quick')).toBe('The [quick] brown [fox]')
  })
  it('returns one line', () => {
    expect(marked('\n\n  a\t\tb\r\n\0c\u00a0\u2028 d  \n', 'c d')).toBe('a b [c] [d]')
    expect(marked('\u001b[1;31mFAIL\u001b[0m it \u001b[ x', 'fail')).toBe('[FAIL] it [ x')
  })
  it('contains the hit and cuts between words', () => {
    const shown = marked(`${filler(50)} needle ${filler(50)}`, 'needle', 60)
    expect(shown).toBe('\u2026ipsum lorem ipsum [needle] lorem ipsum lorem ipsum lorem ipsum\u2026')
  })
  it('uses its whole length at either end of the text', () => {
    expect(marked(`needle ${filler(20)}`, 'needle', 30)).toBe('[needle] lorem ipsum lorem ipsum\u2026')
    expect(marked(`${filler(20)} needle`, 'needle', 30)).toBe('\u2026lorem ipsum lorem ipsum [needle]')
  })
  it('chooses the stretch with the most different terms, not the most repetitions', () => {
    const shown = '\u2026ipsum [foo] [bar] lorem ipsum lorem ipsum\u2026'
    const richest = `${filler(30)} foo bar ${filler(30)} foo bar`
    expect(marked(`foo foo foo foo ${richest}`, 'foo bar', 40)).toBe(shown)
    expect(marked(`bar ${filler(30)} foo ${richest}`, 'foo bar', 40)).toBe(shown)
  })
  it('chooses the text with the most terms, the first of equals', () => {
    expect(marked(['foo one', 'foo bar two', 'bar foo three'], 'foo bar')).toBe('[foo] [bar] two')
    expect(marked(['foo one', 'foo two'], 'foo')).toBe('[foo] one')
  })
  it('is satisfied with eight of many terms', () => {
    const words = 'one two three four five six seven eight nine ten'.split(' ')
    const text = `${words.slice(0, 8).join(' ')} ${filler(400)} ${words.join(' ')}`
    const first = '[one] [two] [three] [four] [five] [six] [seven] [eight]'
    expect(marked(text, words.join(' '), 60)).toBe(`${first} lorem ipsum lorem…`)
    // Of eight, all are looked for.
    const later = `${words.slice(1, 8).join(' ')} ${filler(400)} ${words.slice(0, 8).join(' ')} end`
    expect(marked(later, words.slice(0, 8).join(' '), 60)).toContain(`${first} end`)
  })
  it('is satisfied with its first hits after 200,000 characters', () => {
    const long = `foo ${'x '.repeat(140_000)}`
    expect(marked([long, 'foo bar'], 'foo bar', 20)).toBe('[foo] x x x x x x x x…')
    expect(marked([long.slice(0, 100_000), 'foo bar'], 'foo bar', 20)).toBe('[foo] [bar]')
    // Without a hit, it continues.
    expect(marked([long.replace('foo', 'tofool'), 'foo bar'], 'foo bar', 20)).toBe('[foo] [bar]')
  })
  it('marks phrases, parts, words and prefixes', () => {
    expect(marked('a b, c fooBar x foo_bar foobarbaz', '"b c" foobar*')).toBe(
      'a [b, c] [fooBar] x [foo_bar] [foobarbaz]',
    )
    expect(marked('これは日本語です', '日本語')).toBe('これは[日本語]です')
    expect(marked('un cafe\u0301 noir', 'café')).toBe('un [cafe\u0301] noir')
    expect(marked('ok 👍🏽 \u0634\u0643\u0631\u064b\u0627!', '👍 \u0634\u0643\u0631\u0627')).toBe(
      'ok [👍🏽] [\u0634\u0643\u0631\u064b\u0627]!',
    )
  })
  it('marks overlapping hits once', () => {
    expect(marked('src/foo_bar.ts', 'foo_bar bar.ts')).toBe('src/[foo_bar.ts]')
    expect(marked('foobar', 'foo* foobar')).toBe('[foobar]')
  })
  it('returns the beginning of the first text if there are no wanted terms', () => {
    expect(marked([filler(50), 'other'], 'role:user -x', 20)).toBe('lorem ipsum lorem\u2026')
    expect(cut([], 'role:user')).toEqual({ text: '', marks: [] })
    expect(cut(['', 'b'], 'role:user')).toEqual({ text: '', marks: [] })
    expect(marked('nothing of that', 'absent')).toBe('nothing of that')
  })
  it('cuts a hit that is longer than the snippet', () => {
    expect(marked('start of a very long phrase indeed', '"of a very long phrase"', 12)).toBe(
      '\u2026[of a very]\u2026',
    )
  })
  it('cuts a text without spaces between characters', () => {
    const shown = cut('🎉'.repeat(200), 'role:user', 21).text
    expect(shown).toBe(`${'🎉'.repeat(10)}\u2026`)
    expect(cut('👨\u200d👩\u200d👧'.repeat(50), 'role:user', 20).text).toBe(
      `${'👨\u200d👩\u200d👧'.repeat(2)}\u2026`,
    )
    expect(cut('e\u0301'.repeat(100), 'role:user', 21).text).toBe(`${'e\u0301'.repeat(10)}\u2026`)
    expect(marked(`${'日'.repeat(100)}本${'日'.repeat(100)}`, '本', 10)).toBe(
      `\u2026${'日'.repeat(3)}[本]${'日'.repeat(6)}\u2026`,
    )
  })
  it('contains a hit after combined characters', () => {
    expect(marked('foo\u200de\u0301fooBar\ud83d\u200dfoo', 'foo', 12)).toContain('[')
  })
  it('contains no lone surrogate', () => expect(cut('a \ud800 b', 'b').text).toBe('a \ufffd b'))
  it('is fast for a megabyte', () => {
    const took = processorTimer()
    expect(marked(`needle ${'foo bar '.repeat(131_072)}`, 'foo needle', 20)).toBe(
      '[needle] [foo] bar [foo]\u2026',
    )
    expect(took()).toBeLessThan(10_000)
  })
  it('is about as long as requested, with marks inside it, in order and apart', () => {
    const pieces = [
      'foo',
      'bar',
      'fooBar',
      ' ',
      ' ',
      '\n',
      '日',
      '🎉',
      'e\u0301',
      '\ud83d',
      '\u200d',
      '.',
      'x'.repeat(30),
    ]
    const text = fc.array(fc.constantFrom(...pieces), { maxLength: 60 }).map(all => all.join(''))
    const query = fc.constantFrom('foo', 'foo bar', '"foo bar"', 'ba* 日', '🎉 foobar')
    fc.assert(
      fc.property(
        fc.array(text, { minLength: 1, maxLength: 3 }),
        query,
        fc.integer({ min: 10, max: 80 }),
        (texts, asked, length) => {
          const { text, marks } = cut(texts, asked, length)
          expect(text.length).toBeLessThanOrEqual(length + 2)
          expect(text.isWellFormed()).toBe(true)
          expect(text).not.toMatch(/\s\s|[\n\0]/)
          let last = 0
          for (const { start, end } of marks) {
            expect(start).toBeGreaterThanOrEqual(last)
            expect(end).toBeGreaterThan(start)
            last = end
          }
          expect(last).toBeLessThanOrEqual(text.length)
          if (matches(texts, parseQuery(asked, new Date(0)))) expect(marks).not.toEqual([])
          if (matches(texts, parseQuery(asked, new Date(0)))) expect(marks).not.toEqual([])
        },
      ),
      { numRuns: 1_000 },
    )
  })
  it('equals the snippet of the whole text', () => {
    const pieces = [
      'foo',
      'bar',
      'fooBar',
      'foo_bar',
      'f-oo',
      'FOO',
      'b_ar',
      'Foo-Bar',
      'x',
      'barfoo',
      '日',
      'bär',
      ...'.,/',
    ]
    const word = fc.oneof(
      { arbitrary: fc.constantFrom(...pieces.slice(0, 10)), weight: 1 },
      { arbitrary: fc.constantFrom(...pieces), weight: 1 },
      { arbitrary: fc.constant(''), weight: 12 },
    )
    // Numbered, so that every stretch occurs once.
    const numbered = (words: readonly string[]) => words.map((each, i) => `n${i} ${each}`).join(' ')
    const text = fc
      .oneof(fc.array(word, { maxLength: 60 }), fc.array(word, { minLength: 400, maxLength: 900 }))
      .map(numbered)
    const asked = fc.constantFrom(
      'foo',
      'foobar',
      'foo bar',
      '"foo bar"',
      'ba*',
      'bar x',
      '日 foo',
      'foo_bar',
    )
    fc.assert(
      fc.property(text, asked, fc.integer({ min: 20, max: 200 }), (given, query, length) => {
        const { all } = parseQuery(query, new Date(0))
        const line = given.replace(/\s+/g, ' ').trim()
        const tokens = tokenize(line)
        const hits = all.flatMap((term, index) => findTerm(tokens, term).map(hit => ({ ...hit, index })))
        hits.sort((a, b) => a.start - b.start || a.end - b.end)
        const richness = hits.map(
          ({ start, end }) =>
            new Set(
              hits
                .filter(one => one.start >= start && one.end - start <= Math.max(length, end - start))
                .map(one => one.index),
            ).size,
        )
        const first = hits[richness.indexOf(Math.max(...richness))]
        const { text: shown, marks } = cut(given, query, length)
        const bare = shown.replace(/^…|…$/g, '')
        const from = line.indexOf(bare)
        expect(from).toBeGreaterThanOrEqual(0)
        if (!first) {
          expect(marks).toEqual([])
          return
        }
        expect(first.start).toBeGreaterThanOrEqual(from)
        expect(first.start).toBeLessThan(from + bare.length)
        const lead = shown.startsWith('…') ? 1 : 0
        const isMarked = new Set(
          marks.flatMap(({ start, end }) => range(start - lead + from, end - lead + from)),
        )
        const isHit = new Set(
          hits.flatMap(({ start, end }) => range(Math.max(start, from), Math.min(end, from + bare.length))),
        )
        expect(isMarked).toEqual(isHit)
      }),
      { numRuns: 400 },
    )
  })
})

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i)
}
