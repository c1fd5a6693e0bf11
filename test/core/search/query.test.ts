import { describe, expect, it } from 'vitest'
import { InvalidError } from '../../../src/core/errors.ts'
import { parseQuery } from '../../../src/core/search/query.ts'

const now = new Date('2026-08-22T12:00:00Z')
const parse = (text: string) => parseQuery(text, now)
const only = (text: string) => {
  const { all } = parse(text)
  expect(all).toHaveLength(1)
  return all[0]!
}
const refusal = (text: string): InvalidError => {
  try {
    parse(text)
  } catch (error) {
    if (error instanceof InvalidError) return error
    throw error
  }
  throw new Error(`was not refused: ${text}`)
}

describe('words', () => {
  it('become one wanted term each', () => {
    expect(parse('hello big  world').all.map(term => term.parts)).toEqual([['hello'], ['big'], ['world']])
  })
  it('are decided by the index if they have one part', () => {
    expect(only('Hello')).toEqual({
      parts: ['hello'],
      prefix: false,
      required: ['hello'],
      pairs: [],
      requiredPrefix: null,
      check: false,
    })
  })
  it('mean the same in any case and with any accent', () => {
    expect(only('WebSocket')).toEqual(only('websocket'))
    expect(only('Café')).toEqual(only('CAFE\u0301'))
  })
  it.each([
    ['src/foo_bar.ts', ['src', 'foo', 'bar', 'ts']],
    ['foo-bar', ['foo', 'bar']],
    ['https://x.y/z?q=1', ['https', 'x', 'y', 'z', 'q', '1']],
    ['12:30', ['12', '30']],
    ['todo:later', ['todo', 'later']],
    ['Role:user', ['role', 'user']],
    ['inside:x', ['inside', 'x']],
    ['--verbose', ['verbose']],
    ['(foo)', ['foo']],
    ['\u200f\u05e9\u05dc\u05d5\u05dd', ['\u05e9\u05dc\u05d5\u05dd']],
  ])('require their parts in order: %s', (text, parts) => {
    const term = only(text)
    expect(term.parts).toEqual(parts)
    expect(term.required).toEqual(parts)
    expect(term.check).toBe(parts.length > 1)
  })
  it('require the pairs of spaceless letters', () => {
    expect(only('日')).toMatchObject({ parts: ['日'], required: ['日'], check: false })
    expect(only('日本')).toMatchObject({ parts: ['日', '本'], required: ['日本'], check: false })
    expect(only('日本語')).toMatchObject({ required: ['日本', '本語'], check: true })
    expect(only('日本x')).toMatchObject({ parts: ['日', '本', 'x'], required: ['日本', 'x'], check: true })
  })
  it('may be emoji', () => {
    expect(only('👍🏽')).toMatchObject({ parts: ['👍'], required: ['👍'], check: false })
  })
  it('require only the necessary tokens in the index', () => {
    const term = only('日本語のテキストを検索する方法を教えてください')
    expect(term.parts).toHaveLength(23)
    expect(term.required).toHaveLength(16)
    const phrase = only(
      `"${Array.from({ length: 30 }, (_, i) => 'abcdefgh'.slice(0, (i % 8) + 1) + i).join(' ')}"`,
    )
    expect(phrase.required).toHaveLength(16)
    expect(phrase.required[0]).toBe('abcdefgh15')
  })
  it('mean nothing if they are punctuation', () => {
    expect(parse('foo & bar -> * ** -- !').all.map(term => term.parts)).toEqual([['foo'], ['bar']])
  })
})

describe('phrases', () => {
  it('become one term', () => {
    expect(only('"Hello, big world"')).toMatchObject({ parts: ['hello', 'big', 'world'], check: true })
    expect(only('"hello"')).toEqual(only('hello'))
  })
  it('may be adjacent to words', () => {
    expect(parse('a"b c"d').all.map(term => term.parts)).toEqual([['a'], ['b', 'c'], ['d']])
  })
  it('may contain filter syntax as plain text', () => {
    expect(only('"role:user -x"').parts).toEqual(['role', 'user', 'x'])
    expect(only('"SELECT * FROM"').parts).toEqual(['select', 'from'])
  })
})

describe('prefixes', () => {
  it('end in a star', () => {
    expect(only('foo*')).toEqual({
      parts: ['foo'],
      prefix: true,
      required: [],
      pairs: [],
      requiredPrefix: 'foo',
      check: false,
    })
  })
  it('may end a compound or a phrase', () => {
    const expected = {
      parts: ['foo', 'ba'],
      prefix: true,
      required: ['foo'],
      pairs: [],
      requiredPrefix: 'ba',
      check: true,
    }
    for (const text of ['foo_ba*', '"foo ba*"', '"foo ba"*', '"foo ba* "'])
      expect(only(text)).toEqual(expected)
  })
  it('are looked up with one letter only next to other parts', () => {
    expect(only('foo.b*')).toMatchObject({
      prefix: true,
      required: ['foo'],
      pairs: [],
      requiredPrefix: null,
      check: true,
    })
  })
  it('are a plain letter if that letter is always a part', () => {
    expect(only('日*')).toEqual(only('日'))
    expect(only('日本*')).toEqual(only('日本'))
    expect(only('👍*')).toEqual(only('👍'))
    expect(only('\u3160*')).toEqual(only('\u3160'))
  })
  it('need the star at the end', () => {
    for (const text of ['**foo**', 'foo/*', '*foo']) expect(only(text)).toEqual(only('foo'))
    expect(only('foo*bar')).toEqual(only('foo.bar'))
  })
})

describe('negation', () => {
  it('applies to words and phrases', () => {
    const query = parse('a -b -"c d" -e_f*')
    expect(query.all.map(term => term.parts)).toEqual([['a']])
    expect(query.none.map(term => term.parts)).toEqual([['b'], ['c', 'd'], ['e', 'f']])
  })
  it('is recognised only at the start of a word', () => {
    expect(parse('foo-bar "a"-b').none).toEqual([])
  })
})

describe('filters', () => {
  it('accept roles, several of them and under other names', () => {
    expect(parse('x role:user role:tool role:USER').roles).toEqual(['user', 'tool_result'])
    expect(parse('role:developer role:system role:assistant role:tool_result').roles).toEqual([
      ...['system', 'assistant', 'tool_result'],
    ])
  })
  it('accept a conversation as written', () => {
    expect(parse('x in:01J9z').conversation).toBe('01J9z')
    expect(parse('in:discord:dm:42').conversation).toBe('discord:dm:42')
    expect(parse('in:"my key" x').conversation).toBe('my key')
    expect(parse('x').conversation).toBeNull()
  })
  it.each([
    ['2026-08-14', '2026-08-14T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['0026-01-01', '0026-01-01T00:00:00.000Z'],
    ['2026-08-14T09:30', '2026-08-14T09:30:00.000Z'],
    ['2026-08-14T09:30Z', '2026-08-14T09:30:00.000Z'],
    ['2026-08-14t09:30:15.1234z', '2026-08-14T09:30:15.123Z'],
    ['2026-08-14T09:30:15+02:00', '2026-08-14T07:30:15.000Z'],
    ['2026-08-14T23:30-0530', '2026-08-15T05:00:00.000Z'],
    ['30m', '2026-08-22T11:30:00.000Z'],
    ['12h', '2026-08-22T00:00:00.000Z'],
    ['7d', '2026-08-15T12:00:00.000Z'],
    ['2w', '2026-08-08T12:00:00.000Z'],
  ])('accept the time %s', (text, expected) => {
    expect(parse(`since:${text}`).since?.toISOString()).toBe(expected)
    expect(parse(`before:"${text}"`).before?.toISOString()).toBe(expected)
  })
  it('may be used without a word, or with excluded words only', () => {
    expect(parse('since:7d')).toMatchObject({ all: [], none: [], since: new Date('2026-08-15T12:00:00Z') })
    expect(parse('role:user -draft').none).toHaveLength(1)
  })
  it('are not recognised inside a word', () => {
    expect(parse('"a"role:user').roles).toEqual([])
  })
})

describe('parseQuery refuses a query with the position of the error', () => {
  it.each([
    ['', 0],
    ['   ', 0],
    ['!!! ...', 0],
    ['*', 0],
    ['\0\ud800', 0],
    ['foo "bar', 4],
    ['foo"', 3],
    ['foo in:"bar', 7],
    ['foo ""', 4],
    ['foo -"  "', 5],
    ['"?!"', 0],
    ['foo -', 4],
    ['- foo', 0],
    ['-foo', 0],
    ['  -foo -bar', 2],
    ['foo a*', 4],
    ['foo \u00e9*', 4],
    ['foo -b*', 5],
    ['"a*"', 0],
    ['foo role:banana', 9],
    ['role:constructor', 5],
    ['role:', 5],
    ['role: user', 5],
    ['foo in:', 7],
    ['in:"" x', 3],
    ['in:a in:b', 5],
    ['in:a\0b', 3],
    ['in:\ud800', 3],
    ['since:1d since:2d', 9],
    ['before:1d before:2d', 10],
    ['since:', 6],
    ['since:yesterday', 6],
    ['before:2026-02-30', 7],
    ['before:2025-02-29', 7],
    ['before:2026-13-01', 7],
    ['before:2026-08-14T24:00', 7],
    ['before:2026-08-14T12:60', 7],
    ['before:2026-08-14T12:00+24:00', 7],
    ['since:1y', 6],
    ['since:-1d', 6],
    ['since:9999999d', 6],
    ['x -role:user', 2],
  ])('%j at %i', (text, position) => {
    const error = refusal(text)
    expect(error.field).toBe('query')
    expect(error.position).toBe(position)
  })
  it('if it is too long', () => {
    expect(refusal('x'.repeat(4097)).position).toBe(4096)
    expect(parse('x'.repeat(4096)).all).toHaveLength(1)
  })
  it('if it has too many terms', () => {
    expect(parse('x '.repeat(64)).all).toHaveLength(64)
    expect(refusal(`${'x '.repeat(63)}-y z`).position).toBe(129)
  })
  it('if a phrase has too many words', () => {
    expect(only(`"${'x '.repeat(128)}"`).parts).toHaveLength(128)
    expect(refusal(`a "${'x '.repeat(129)}"`).position).toBe(2)
  })
})
