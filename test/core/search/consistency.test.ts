import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InvalidError } from '../../../src/core/errors.ts'
import { findTerm, matches } from '../../../src/core/search/match.ts'
import { parseQuery, type SearchQuery, type Term } from '../../../src/core/search/query.ts'
import { indexTokens, tokenize, tokenizeQuery } from '../../../src/core/search/tokenize.ts'

// Few letters and many boundaries, so that texts and queries often match.
const pieces = [
  ...[
    'foo',
    'Bar',
    'BAZ',
    'fooBar',
    'a',
    'B',
    's',
    '1',
    '22',
    '_',
    '-',
    '.',
    '/',
    ' ',
    ' ',
    '\n',
    "'",
    '*',
    ':',
  ],
  ...[
    '日',
    '本',
    '語',
    'カ',
    '\uff76',
    '\uff9e',
    '\u3099',
    '한',
    '\u1112',
    '\u1161',
    '\u11ab',
    '\u3160',
    '\u0e14',
  ],
  ...[
    'é',
    'e\u0301',
    '\u0301',
    'ß',
    '\u0130',
    '\u0131',
    'Σ',
    'ς',
    '\u0643',
    '\u0640',
    '\u0650',
    '\u0939',
    '\u093f',
  ],
  ...[
    '🎉',
    '👍🏽',
    '\u200d',
    '\ufe0f',
    '\u{10400}',
    '\u{10428}',
    '\ud83d',
    '\udc4d',
    '\0',
    '\u200f',
    '\ufeff',
  ],
  ...['\u001b[1m', '\u001b[', '\u00bd', '\ufb01', '\u01c5', '\ufdfa', 'x'.repeat(40), 'Y'.repeat(33)],
]
const text = fc.oneof(
  { weight: 4, arbitrary: fc.array(fc.constantFrom(...pieces), { maxLength: 30 }).map(all => all.join('')) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
)
const texts = fc.array(text, { minLength: 1, maxLength: 3 })

/** Queries that quote a part of the texts, and others. */
const asked = fc
  .tuple(texts, fc.nat(), fc.nat(60), fc.constantFrom('', '*'), fc.option(text))
  .map(([all, at, length, star, other]) => {
    const source = other ?? all[at % all.length]!
    const start = source.length === 0 ? 0 : at % source.length
    return {
      texts: all,
      query: `"${source
        .slice(start, start + length)
        .replaceAll('"', ' ')
        .trim()}${star}"`,
    }
  })

function understood(query: string): SearchQuery | null {
  try {
    return parseQuery(query, new Date(0))
  } catch (error) {
    if (error instanceof InvalidError) return null
    throw error
  }
}

function isCandidate(texts: readonly string[], term: Term): boolean {
  const { tokens: index, pairs } = indexTokens(texts)
  const begins = term.requiredPrefix
  return (
    term.required.every(token => index.includes(token)) &&
    term.pairs.every(pair => pairs.has(pair)) &&
    (begins === null || index.some(token => token.startsWith(begins)))
  )
}

const runs = { numRuns: 1_500 }

describe('the index', () => {
  it('returns every message that matches', () => {
    let matched = 0
    fc.assert(
      fc.property(asked, ({ texts, query }) => {
        const parsed = understood(query)
        fc.pre(parsed !== null)
        if (!matches(texts, parsed!)) return
        matched++
        for (const term of parsed!.all) expect(isCandidate(texts, term)).toBe(true)
      }),
      runs,
    )
    expect(matched).toBeGreaterThan(100)
  })
  it('decides alone about terms that need no check', () => {
    const seen = { found: 0, missed: 0 }
    fc.assert(
      fc.property(asked, ({ texts, query }) => {
        const term = understood(query)?.all[0]
        fc.pre(term !== undefined && !term.check)
        const found = texts.some(each => findTerm(tokenize(each), term!).length > 0)
        seen[found ? 'found' : 'missed']++
        expect(isCandidate(texts, term!)).toBe(found)
      }),
      runs,
    )
    expect(seen.found).toBeGreaterThan(100)
    expect(seen.missed).toBeGreaterThan(50)
  })
})

describe('tokens', () => {
  const parts = (text: string) => tokenizeQuery(text).map(token => token.text)
  const otherForms = (text: string) => [text.normalize('NFC'), text.normalize('NFD'), text.toLowerCase()]
  const each = (check: (text: string) => void) => fc.assert(fc.property(text, check), runs)

  it('contain letters, digits and emoji only', () =>
    each(source => {
      for (const { text } of tokenize(source)) {
        expect(text).toMatch(
          /^[a-z0-9\p{L}\p{N}\p{M}\p{Extended_Pictographic}\p{Regional_Indicator}]{1,64}$/u,
        )
        expect(text).not.toMatch(/[A-Z\0\s'"\\]/)
        expect(text.isWellFormed()).toBe(true)
        expect(text.length).toBeLessThanOrEqual(64)
      }
    }))
  it('are in order and cover whole characters of the text', () =>
    each(source => {
      let position = 0
      let last = { from: 0, to: 0 }
      for (const token of tokenize(source)) {
        expect(token.end).toBeGreaterThan(token.start)
        if (token.to - token.from === 1) {
          expect(token.from).toBe(position++)
          expect(source.slice(token.start, token.end).isWellFormed()).toBe(true)
        }
        expect(token.from > last.from || (token.from === last.from && token.to > last.to)).toBe(true)
        last = token
      }
    }))
  it('are equal in lower case and in every normal form', () =>
    each(source => {
      // Composition also affects Hangul and kana. An escape sequence can lose its last letter to it.
      fc.pre(source.isWellFormed() && !/[\u1112\u1161\u11ab\u3160\u3099\uff9e[]/.test(source))
      for (const form of otherForms(source)) expect(parts(form)).toEqual(parts(source))
    }))
  it('are equal in lower case and in every normal form, character by character', () => {
    const different: string[] = []
    for (let codePoint = 0; codePoint < 0x20000; codePoint++) {
      const char = String.fromCodePoint(codePoint)
      if (!char.isWellFormed()) continue
      const expected = parts(char).join()
      if (otherForms(char).some(form => parts(form).join() !== expected))
        different.push(codePoint.toString(16))
    }
    expect(different).toEqual([])
  })
  it('find the text from which they were made', () =>
    each(source => {
      const query = understood(`"${source.replaceAll('"', ' ')}"`)
      fc.pre(query !== null)
      expect(matches([source], query!)).toBe(true)
    }))
})

it('parseQuery accepts any string or refuses it with a position', () => {
  const hostile = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 80 }),
    fc
      .array(fc.constantFrom(...pieces, '"', '"', 'role:', 'in:', 'since:', 'user', '7d'), { maxLength: 12 })
      .map(all => all.join('')),
  )
  fc.assert(
    fc.property(hostile, query => {
      try {
        parseQuery(query, new Date(0))
      } catch (error) {
        expect(error).toBeInstanceOf(InvalidError)
        const { position } = error as InvalidError
        expect(position).toBeGreaterThanOrEqual(0)
        expect(position).toBeLessThanOrEqual(query.length)
      }
    }),
    runs,
  )
})
