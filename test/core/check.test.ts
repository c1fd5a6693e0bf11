import { describe, expect, it } from 'vitest'
import {
  checkChoice,
  checkCount,
  checkName,
  checkNonEmpty,
  checkText,
  checkTime,
  latestTime,
} from '../../src/core/check.ts'
import { InvalidError } from '../../src/core/errors.ts'
import { checkJson, checkJsonObject, isPlainObject, maxNesting, typeName } from '../../src/core/json.ts'

class Thing {}

/** The field and the text of a refusal. */
function refusal(check: () => unknown): string {
  try {
    check()
  } catch (error) {
    if (error instanceof InvalidError) return error.message
    throw error
  }
  return 'accepted'
}

const nested = (levels: number): unknown => {
  let value: unknown = 1
  for (let i = 0; i < levels; i++) value = i % 2 ? [value] : { a: value }
  return value
}

describe('checkName', () => {
  it('accepts 1 to 512 bytes', () => {
    expect(checkName('cli:default', 'key')).toBe('cli:default')
    expect(checkName('x'.repeat(512), 'key')).toHaveLength(512)
    expect(refusal(() => checkName('x'.repeat(513), 'key'))).toBe('key: must be at most 512 bytes')
    expect(refusal(() => checkName('', 'key'))).toBe('key: must not be empty')
  })

  it('counts bytes, not characters', () => {
    expect(checkName('語'.repeat(170), 'key')).toHaveLength(170)
    expect(refusal(() => checkName('語'.repeat(171), 'key'))).toBe('key: must be at most 512 bytes')
  })

  it.each([
    ['a\0b', 'must not contain NUL'],
    ['a\ud800b', 'must be well-formed text (it has a lone surrogate)'],
    [7, 'must be text, got number'],
    [null, 'must be text, got null'],
    [undefined, 'must be text, got undefined'],
    [['a'], 'must be text, got a list'],
    [new Thing(), 'must be text, got Thing'],
  ])('refuses %j', (name, problem) => {
    expect(refusal(() => checkName(name, 'key'))).toBe(`key: ${problem}`)
  })
})

describe('checkText', () => {
  it('accepts empty text and applies its own limit', () => {
    expect(checkText('', 'title', 4)).toBe('')
    expect(checkText('語a', 'title', 4)).toBe('語a')
    expect(refusal(() => checkText('語ab', 'title', 4))).toBe('title: must be at most 4 bytes')
  })
})

describe('checkTime', () => {
  it('accepts dates from 1970 to 9999, in milliseconds', () => {
    expect(checkTime(new Date(0), 'at')).toBe(0)
    expect(checkTime(new Date('9999-12-31T23:59:59.999Z'), 'at')).toBe(latestTime)
  })

  it.each([new Date(-1), new Date(latestTime + 1), new Date(Number.NaN), 5, '2026-01-01', null, undefined])(
    'refuses %j',
    date => {
      expect(refusal(() => checkTime(date, 'at'))).toBe('at: must be a date between 1970 and 9999')
    },
  )
})

describe('checkCount', () => {
  it('accepts whole numbers within its bounds', () => {
    expect(checkCount(0, 'n', 0, 9)).toBe(0)
    expect(checkCount(9, 'n', 0, 9)).toBe(9)
  })

  it.each([-1, 10, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5', null, 5n])('refuses %s', value => {
    expect(refusal(() => checkCount(value, 'n', 0, 9))).toBe('n: must be a whole number from 0 to 9')
  })
})

describe('checkChoice and checkNonEmpty', () => {
  it('accept listed words and name the list otherwise', () => {
    expect(checkChoice('a', 'x', ['a', 'b'])).toBe('a')
    expect(refusal(() => checkChoice('c', 'x', ['a', 'b']))).toBe('x: must be one of a, b')
    expect(refusal(() => checkChoice(undefined, 'x', ['a', 'b']))).toBe('x: must be one of a, b')
  })

  it('accept a list with elements', () => {
    expect(refusal(() => checkNonEmpty([1], 'ids'))).toBe('accepted')
    expect(refusal(() => checkNonEmpty([], 'ids'))).toBe('ids: must not be empty')
    expect(refusal(() => checkNonEmpty('abc', 'ids'))).toBe('ids: must be a list, got string')
  })
})

describe('checkJson', () => {
  it.each(
    [
      null,
      true,
      0,
      -1.5e300,
      '',
      '\ud800',
      [],
      {},
      [[{ a: [null] }]],
      { absent: undefined },
      Object.create(null),
      JSON.parse('{"__proto__":{"toString":1}}'),
    ].map(value => [value]),
  )('accepts %j', value => {
    expect(refusal(() => checkJson(value, 'meta'))).toBe('accepted')
  })

  it.each<[unknown, string]>([
    [undefined, 'meta: must be JSON, got undefined'],
    [[undefined], 'meta[0]: must be JSON, got undefined'],
    // biome-ignore lint/suspicious/noSparseArray: a hole is what is tested
    [[1, , 2], 'meta[1]: must be JSON, got undefined'],
    [{ a: { b: [() => 1] } }, 'meta.a.b[0]: must be JSON, got function'],
    [1n, 'meta: must be JSON, got bigint'],
    [Symbol('s'), 'meta: must be JSON, got symbol'],
    [Number.NaN, 'meta: must be a finite number, got NaN'],
    [{ a: Number.NEGATIVE_INFINITY }, 'meta.a: must be a finite number, got -Infinity'],
    [new Date(0), 'meta: must be plain JSON, got Date'],
    [new Map(), 'meta: must be plain JSON, got Map'],
    [new Uint8Array(2), 'meta: must be plain JSON, got Uint8Array'],
    [new Thing(), 'meta: must be plain JSON, got Thing'],
    [new String('a'), 'meta: must be plain JSON, got String'],
    [{ toJSON: () => 1 }, 'meta.toJSON: must be JSON, got function'],
  ])('refuses values that JSON would drop or change (%#)', (value, words) => {
    expect(refusal(() => checkJson(value, 'meta'))).toBe(words)
  })

  it('accepts 256 levels, not 257', () => {
    expect(refusal(() => checkJson(nested(maxNesting), 'meta'))).toBe('accepted')
    expect(refusal(() => checkJson(nested(maxNesting + 1), 'meta'))).toContain(
      'nested deeper than 256 levels',
    )
  })

  it('refuses circular values', () => {
    const value: unknown[] = []
    value.push(value, value)
    expect(refusal(() => checkJson(value, 'meta'))).toContain('or in itself')
  })
})

describe('checkJsonObject', () => {
  it('returns the text and measures it in bytes', () => {
    expect(checkJsonObject({ a: 'ä' }, 'metadata', 10)).toBe('{"a":"ä"}')
    expect(refusal(() => checkJsonObject({ a: 'ä' }, 'metadata', 9))).toBe(
      'metadata: must be at most 9 bytes of JSON',
    )
  })

  it.each([
    [null, 'null'],
    [[], 'a list'],
    ['a', 'string'],
    [new Date(0), 'Date'],
  ])('refuses %j', (value, kind) => {
    expect(refusal(() => checkJsonObject(value, 'metadata', 10))).toBe(
      `metadata: must be a JSON object, got ${kind}`,
    )
  })
})

describe('typeName and isPlainObject', () => {
  it('accept objects without a constructor, or with an unusual one', () => {
    expect(typeName(Object.create(null))).toBe('an object')
    expect(typeName(Object.create({ constructor: 5 }))).toBe('an object')
    expect(typeName({ constructor: { name: 5 } })).toBe('an object')
    expect(isPlainObject(Object.create({}))).toBe(false)
  })
})
