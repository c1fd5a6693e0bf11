import { describe, expect, it } from 'vitest'
import { findTerm, matches } from '../../../src/core/search/match.ts'
import { parseQuery } from '../../../src/core/search/query.ts'
import { tokenize } from '../../../src/core/search/tokenize.ts'
import { processorTimer } from '../../support/processor-time.ts'

const parse = (query: string) => parseQuery(query, new Date(0))
const finds = (query: string, ...texts: string[]) => matches(texts, parse(query))
const hits = (query: string, text: string) =>
  findTerm(tokenize(text), parse(query).all[0]!).map(hit => text.slice(hit.start, hit.end))

describe('a word', () => {
  it.each([
    ['foobar', 'a fooBar b'],
    ['foobar', 'foo_bar'],
    ['foobar', 'getFooBarBaz'],
    ['fooBar', 'foobar'],
    ['fooBar', 'GET_FOO_BAR'],
    ['foo', 'src/foo_bar.ts'],
    ['WebSocket', 'websocket'],
    ['websocket', 'a WebSocket'],
    ['GitHub', 'on github.com'],
    ['email', 'by e-mail'],
    ['foo_bar.ts', 'src/foo_bar.ts:12'],
    ['foo_bar', 'fooBar'],
    ['foo_bar', 'foo bar'],
    ['foobar_baz', 'fooBar.baz'],
    ['my_sha256Sum', 'my_sha256Sum'],
    ['https://x.y/z', 'see <https://x.y/z>.'],
    ['x.y/z', 'see https://x.y/z?a=b'],
    ['12:30', 'at 12:30 sharp'],
    ['cafe', 'un caf\u00e9'],
    ['caf\u00e9', 'un CAFE\u0301'],
    ['strasse', 'Stra\u00dfe'],
    ['STRASSE', 'stra\u00dfe'],
    ['istanbul', '\u0130STANBUL'],
    ['\u0643\u062a\u0627\u0628', '\u0643\u0650\u062a\u064e\u0627\u0628\u064c'],
    ['日本', '日\n本'],
    ['本語', '日本語'],
    ['日本語', 'これは日本語です'],
    ['テキスト', '\uff83\uff77\uff7d\uff84'],
    ['한글', '\u1112\u1161\u11ab\u1100\u1173\u11af'],
    ['🎉', 'done🎉!'],
    ['👨\u200d👩\u200d👧', 'family: 👨\u200d👩\u200d👧'],
    ['👩', 'family: 👨\u200d👩\u200d👧'],
  ])('is found: %s in %s', (query, text) => expect(finds(query, text)).toBe(true))
  it.each([
    ['foobar', 'foo bar'],
    ['foobar', 'foo.bar'],
    ['foo', 'foobar'],
    ['foo_bar', 'bar_foo'],
    ['foo_bar', 'foo x bar'],
    ['12', '1-2'],
    ['日本語', '日本 本語'],
    ['日語', '日本語'],
    ['カ', 'ガ'],
    ['👨\u200d👧', '👨\u200d👩\u200d👧'],
  ])('is not found: %s in %s', (query, text) => expect(finds(query, text)).toBe(false))
})

describe('a phrase', () => {
  it('is found in order and adjacent, whatever separates its words', () => {
    expect(finds('"quick brown fox"', 'The quick, brown\n  fox.')).toBe(true)
    expect(finds('"quick fox"', 'The quick brown fox')).toBe(false)
    expect(finds('"brown quick"', 'The quick brown fox')).toBe(false)
  })
  it('is found through words and their parts', () => {
    for (const query of ['"foobar baz"', '"foo bar baz"', '"fooBar baz"', '"bar baz"']) {
      expect(finds(query, 'a fooBar baz b')).toBe(true)
    }
    expect(finds('"foobar baz"', 'foobar x baz')).toBe(false)
    expect(finds('"foo baz"', 'fooBar baz')).toBe(false)
  })
  it('is found within one text only', () => expect(finds('"a b"', 'x a', 'b y')).toBe(false))
  it('is found among repetitions', () => expect(finds('"a a b"', 'a a a b')).toBe(true))
  it('is compared by the first 64 units of its words', () => {
    const long = 'x'.repeat(70)
    expect(finds(`"${long} ${long} y"`, `${long}_${long} y`)).toBe(true)
    expect(finds(`"a ${long} y"`, `a ${long}_${long} y`)).toBe(true)
    expect(finds(`"${long} ${long} y"`, `${long} y`)).toBe(false)
  })
})

describe('a prefix', () => {
  it('is found at the start of parts and of words', () => {
    expect(finds('web*', 'a WebSocket')).toBe(true)
    expect(finds('webso*', 'a WebSocket')).toBe(true)
    expect(finds('sock*', 'a WebSocket')).toBe(true)
    expect(finds('ocke*', 'a WebSocket')).toBe(false)
  })
  it('may end a phrase', () => {
    expect(finds('"quick bro*"', 'quick brown')).toBe(true)
    expect(finds('"quick bro*"', 'brown quick')).toBe(false)
    expect(finds('foo.b*', 'foo/bar')).toBe(true)
  })
})

describe('a query', () => {
  it('requires every wanted word in some text and no excluded word in any', () => {
    expect(finds('a b', 'x a', 'b y')).toBe(true)
    expect(finds('a c', 'x a', 'b y')).toBe(false)
    expect(finds('a -y', 'x a', 'b y')).toBe(false)
    expect(finds('a -"a x"', 'x a')).toBe(true)
    expect(finds('a -ye*', 'a', 'yes')).toBe(false)
  })
  it('matches everything but the excluded words if it has no wanted ones', () => {
    expect(finds('role:user', 'anything')).toBe(true)
    expect(finds('role:user -any', 'any')).toBe(false)
  })
  it('reads as much of a text as the index', () => {
    expect(finds('late', `${'x '.repeat(131_072)}late`)).toBe(false)
    expect(finds('late', `${'x '.repeat(131_000)}late`)).toBe(true)
  })
})

describe('hits', () => {
  it('are ranges of the text, from left to right and without overlaps', () => {
    expect(hits('foo', 'foo Foo; foo_bar fooBar foobar')).toEqual(['foo', 'Foo', 'foo', 'foo'])
    expect(hits('foobar', 'FooBar foo-bar foobar')).toEqual(['FooBar', 'foo-bar', 'foobar'])
    expect(hits('"a a"', 'a a a a a')).toEqual(['a a', 'a a'])
    expect(hits('日本', '日本日本')).toEqual(['日本', '日本'])
    expect(hits('cafe', 'cafe\u0301!')).toEqual(['cafe\u0301'])
    expect(hits('"big wor*"', 'a (big) world')).toEqual(['big) world'])
  })
  it('do not overlap for a prefix', () => expect(hits('fo*', 'fooForm fob')).toEqual(['foo', 'Form', 'fob']))
  it('are found in time for a hostile phrase in a hostile text', () => {
    const took = processorTimer()
    expect(hits(`"${'a '.repeat(127)}b"`, `${'a '.repeat(100_000)}b a`)).toHaveLength(1)
    expect(took()).toBeLessThan(20_000)
  })
})
