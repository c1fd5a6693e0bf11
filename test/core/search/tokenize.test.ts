import { describe, expect, it } from 'vitest'
import { tokenize, tokenizeQuery } from '../../../src/core/search/tokenize.ts'

const words = (text: string) => tokenize(text).map(token => token.text)
const parts = (text: string) =>
  tokenize(text)
    .filter(token => token.to - token.from === 1)
    .map(token => token.text)
const joined = (text: string) =>
  tokenize(text)
    .filter(token => token.to - token.from > 1)
    .map(token => token.text)

describe('parts', () => {
  it('are runs of letters and digits in lower case', () => {
    expect(words('Hello, World! 42 times; it\'s "fine".')).toEqual([
      ...['hello', 'world', '42', 'times', 'it', 's', 'fine'],
    ])
  })
  it('end at _ . / - and at every other character that is not a letter or digit', () => {
    expect(parts('src/foo_bar.test-case.ts')).toEqual(['src', 'foo', 'bar', 'test', 'case', 'ts'])
    expect(parts('https://example.com/a?b=c#d')).toEqual(['https', 'example', 'com', 'a', 'b', 'c', 'd'])
  })
  it.each([
    ['fooBar', ['foo', 'bar']],
    ['FooBarBaz', ['foo', 'bar', 'baz']],
    ['HTTPServer', ['http', 'server']],
    ['getHTTPSUrl', ['get', 'https', 'url']],
    ['PostgreSQL', ['postgre', 'sql']],
    ['FOO_BAR', ['foo', 'bar']],
    ['éléphantÉtoile', ['elephant', 'etoile']],
    ['\u{10400}\u{10401}\u{10428}', ['\u{10428}', '\u{10429}\u{10428}']],
  ])('end at the case changes of %s', (text, expected) => expect(parts(text)).toEqual(expected))
  it.each([
    ['parseJSON5', ['parse', 'json5']],
    ['JSON5Parser', ['json5', 'parser']],
    ['base64Decode', ['base64', 'decode']],
    ['utf8', ['utf8']],
    ['2fa', ['2fa']],
    ['9F86D081', ['9f86d081']],
    ['01J9ZQX3V5', ['01j9zqx3v5']],
  ])('keep the digits of %s with the letters before them', (text, expected) =>
    expect(parts(text)).toEqual(expected),
  )
  it('keep the plural of an acronym', () => {
    expect(parts('APIs URLsFor LLMs, HTTPServer')).toEqual(['apis', 'urls', 'for', 'llms', 'http', 'server'])
  })
  it('take one position each and have offsets', () => {
    const [foo, bar] = tokenize('  foo (bar)').filter(token => token.to - token.from === 1)
    expect(foo).toEqual({ text: 'foo', from: 0, to: 1, start: 2, end: 5 })
    expect(bar).toEqual({ text: 'bar', from: 1, to: 2, start: 7, end: 10 })
  })
})

describe('words', () => {
  it('are kept whole, whatever joins their parts', () => {
    expect(joined('fooBar')).toEqual(['foobar'])
    expect(joined('foo_bar')).toEqual(['foobar'])
    expect(joined('e-mail')).toEqual(['email'])
    expect(joined('UTF-8')).toEqual(['utf8'])
    expect(joined('__init__ --no-verify')).toEqual(['noverify'])
  })
  it('end at a dot, a slash and a doubled joiner', () => {
    expect(joined('foo.bar foo/bar foo__bar foo--bar foo-_bar')).toEqual([])
  })
  it('are also joined by twos and threes of their parts', () => {
    expect(joined('getFooBarBaz')).toEqual([
      ...['getfoo', 'getfoobar', 'getfoobarbaz', 'foobar', 'foobarbaz', 'barbaz'],
    ])
    expect(joined('a_b_c_d_e')).toEqual(['ab', 'abc', 'abcde', 'bc', 'bcd', 'cd', 'cde', 'de'])
  })
  it('are kept whole if they have digits or many parts, with the parts that are written together', () => {
    expect(joined('my_sha256Sum')).toEqual(['mysha256sum', 'sha256sum'])
    expect(joined('a_b_c_d_e_f_g_hI')).toEqual(['abcdefghi', 'hi'])
    expect(joined('0198c7a2-7d3e-7000-8000-00805f9b34fb')).toEqual(['0198c7a27d3e7000800000805f9b34fb'])
  })
  it('are not made of bare numbers', () => expect(joined('1-2 2026-08-14 555_1234')).toEqual([]))
  it('span the positions and offsets of their parts', () => {
    expect(tokenize('a fooBar_baz').find(token => token.text === 'foobarbaz')).toEqual({
      text: 'foobarbaz',
      from: 1,
      to: 4,
      start: 2,
      end: 12,
    })
  })
  it('are ordered by from, then by to', () => {
    const tokens = tokenize('x getFooBar_baz 日本語 y')
    const sorted = tokens.toSorted((a, b) => a.from - b.from || a.to - b.to)
    expect(tokens).toEqual(sorted)
  })
})

describe('folding', () => {
  it.each([
    ['café', 'cafe'],
    ['cafe\u0301', 'cafe'],
    ['ÀÉÎÕÜ', 'aeiou'],
    ['Straße', 'strasse'],
    ['STRASSE', 'strasse'],
    ['GRO\u1e9eE', 'grosse'],
    ['\u0130stanbul', 'istanbul'],
    ['ISPARTA', 'isparta'],
    ['\u0131sparta', 'isparta'],
    ['\u039f\u0394\u039f\u03a3', '\u03bf\u03b4\u03bf\u03c3'],
    ['\u03bf\u03b4\u03cc\u03c2', '\u03bf\u03b4\u03bf\u03c3'],
    ['\ufb01le', 'file'],
    ['\uff26\uff2f\uff2f', 'foo'],
    ['x\u00b2', 'x2'],
    ['co\u00adoperate', 'cooperate'],
  ])('reads %s as %s', (text, expected) => expect(words(text)).toEqual([expected]))
  it('keeps the offsets of the original text', () => {
    const text = 'un cafe\u0301 stra\u00dfe \u{1f389} x'
    const shown = tokenize(text).map(token => text.slice(token.start, token.end))
    expect(shown).toEqual(['un', 'cafe\u0301', 'stra\u00dfe', '\u{1f389}', 'x'])
  })
  it('drops the vowel signs and the tatweel of Arabic', () => {
    expect(words('\u0643\u0650\u062a\u064e\u0627\u0628\u064c')).toEqual(['\u0643\u062a\u0627\u0628'])
    expect(words('\u0643\u0640\u0640\u062a\u0627\u0628\u0610')).toEqual(['\u0643\u062a\u0627\u0628'])
  })
  it('drops the points of Hebrew and direction marks', () => {
    expect(words('\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd')).toEqual(['\u05e9\u05dc\u05d5\u05dd'])
    expect(words('\u200f\u05e9\u05dc\u05d5\u05dd\u200f abc')).toEqual(['\u05e9\u05dc\u05d5\u05dd', 'abc'])
  })
  it('keeps the vowels of Hindi, which are marks but not accents', () => {
    expect(words('\u0939\u093f\u0928\u094d\u0926\u0940')).toEqual(['\u0939\u093f\u0928\u094d\u0926\u0940'])
  })
})

describe('scripts without spaces', () => {
  it('give a token for each character and each pair', () => {
    expect(words('日本語')).toEqual(['日', '日本', '本', '本語', '語'])
    expect(words('한글')).toEqual(['한', '한글', '글'])
    expect(words('カー')).toEqual(['カ', 'カー', 'ー'])
    expect(words('\u0e14\u0e35\u0e21')).toEqual(['\u0e14\u0e35', '\u0e14\u0e35\u0e21', '\u0e21'])
  })
  it('pair across line ends and punctuation, but not across other words', () => {
    expect(joined('日\n本。語')).toEqual(['日本', '本語'])
    expect(joined('日x本 日🎉本')).toEqual(['本日'])
  })
  it('end the words around them', () =>
    expect(words('v2版fooBar')).toEqual(['v2', '版', 'foo', 'foobar', 'bar']))
  it('keep Hangul and voiced kana together, however they are composed', () => {
    expect(words('\u1112\u1161\u11ab\u1100\u1173\u11af')).toEqual(words('한글'))
    expect(words('かがハ゜ガ'.normalize('NFD'))).toEqual(words('かがハ゜ガ'))
    expect(words('\uac00\ud7cb')).toEqual(['\uac00\ud7cb'])
    expect(words('\uff76\uff9e')).toEqual(['ガ'])
    expect(words('안녕ㅠㅠ').slice(0, 3)).toEqual(['안', '안녕', '녕'])
  })
})

describe('emoji', () => {
  it('are parts', () => expect(words('ok🎉🚀done')).toEqual(['ok', '🎉', '🚀', 'done']))
  it('are equal in every skin tone and presentation', () => {
    expect(words('👍🏽 👍 \u2764\ufe0f \u2764')).toEqual(['👍', '👍', '\u2764', '\u2764'])
  })
  it('are found separately if they are joined', () => {
    expect(words('👨\u200d👩\u200d👧 🇩🇪')).toEqual(['👨', '👩', '👧', '🇩', '🇪'])
  })
  it('do not include signs that readers take for punctuation', () => {
    expect(words('Skein\u2122 \u00a9 1\ufe0f\u20e3')).toEqual(['skein', '1'])
  })
})

describe('any text', () => {
  it('may contain NUL and lone surrogates, which end a word', () => {
    expect(words('a\0b\ud800c\udc00d')).toEqual(['a', 'b', 'c', 'd'])
  })
  it('is split by a zero width space and a byte order mark, not by other invisible characters', () => {
    expect(words('a\u200bb\ufeffc\u200dd\u2060e')).toEqual(['a', 'b', 'cde'])
  })
  it('may contain terminal colours, also within a word', () => {
    expect(words('\u001b[1;31mFAIL\u001b[0m src/\u001b[32mfoo\u001b[mbar.ts')).toEqual([
      ...['fail', 'src', 'foobar', 'ts'],
    ])
    expect(words('\u001b[12 \u001b \u001b[')).toEqual(['12'])
    expect(words('a\u001b[1\u0000b')).toEqual(['a', '1', 'b'])
  })
  it('has tokens of at most 64 units, cut between characters', () => {
    expect(words('x'.repeat(100))).toEqual(['x'.repeat(64)])
    expect(words(`x${'\u{10428}'.repeat(50)}`)).toEqual([`x${'\u{10428}'.repeat(31)}`])
    expect(words(`${'x'.repeat(60)}YYYYYYYYYY`)).toEqual([
      ...['x'.repeat(60), `${'x'.repeat(60)}yyyy`, 'y'.repeat(10)],
    ])
  })
  it.each([
    ['small letters', 'a'.repeat(10_000_000)],
    ['accents', `a${'\u0301'.repeat(1_000_000)}`],
    ['case changes', 'aB'.repeat(250_000)],
    ['joiners', 'a_'.repeat(250_000)],
    ['vowels of Hangul', `\u1100${'\u1161'.repeat(1_000_000)}`],
  ])('takes linear time, also for one unbroken run of %s', (_, text) => {
    expect(tokenize(text).length).toBeGreaterThan(0)
  })
})

describe('tokens of a query', () => {
  const asked = (text: string) => tokenizeQuery(text).map(token => token.text)
  it('do not split at case changes', () =>
    expect(asked('WebSocket HTTPServer')).toEqual(['websocket', 'httpserver']))
  it('split at joiners and join nothing', () =>
    expect(asked('foo_bar/baz-1')).toEqual(['foo', 'bar', 'baz', '1']))
  it('include the pairs of spaceless letters', () =>
    expect(asked('日本x')).toEqual(['日', '日本', '本', 'x']))
})
