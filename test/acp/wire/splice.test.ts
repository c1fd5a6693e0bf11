import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findSpans, type JsonSpan } from '../../../src/acp/wire/json-spans.ts'
import { applyEdits, withFirstElements, withMember } from '../../../src/acp/wire/splice.ts'
import { processorTimer } from '../../support/processor-time.ts'
import { objects, type Path, type Place, type Printed, texts } from './json-texts.ts'

const found = (text: string, ...path: Path) => {
  const json = Buffer.from(text)
  return findSpans(json, path).map(({ from, to }) => json.toString('utf8', from, to))
}

const same = (one: Path, other: Path) =>
  one.length === other.length && one.every((step, at) => step === other[at])

/** A text with one of its paths. */
const withPath = (of: fc.Arbitrary<Printed>) =>
  of.chain(printed => fc.constantFrom(...printed.places).map(({ path }) => ({ ...printed, path })))

const at = ({ places }: Printed, path: Path): readonly JsonSpan[] =>
  places
    .filter(place => same(place.path, path))
    .map(({ from, to }: Place) => ({ from, to }))
    .toSorted((a, b) => a.from - b.from)

/** The result of JSON.parse, with the value at the path replaced. */
function replaced(value: unknown, path: Path, by: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined) return by
  if (Array.isArray(value)) return value.with(step as number, replaced(value[step as number], rest, by))
  const members = Object.entries(value as object)
  const known = members.map(([key, one]) => [key, key === step ? replaced(one, rest, by) : one])
  return Object.fromEntries(known)
}

/** The members that JSON.parse uses: the last one of a duplicate key. */
function isRead(value: unknown, path: Path): boolean {
  const [step, ...rest] = path
  if (step === undefined) return true
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return false
  // Of two members with one name, the reader has the last: "0" is a name in an object and not an index.
  if (Array.isArray(value) !== (typeof step === 'number')) return false
  return isRead((value as Record<string | number, unknown>)[step], rest)
}

describe('the spans of a path', () => {
  it('are those that the printer reports, for every path and notation', () => {
    fc.assert(
      fc.property(texts, printed => {
        const json = Buffer.from(printed.text)
        for (const { path } of printed.places) expect(findSpans(json, path)).toEqual(at(printed, path))
      }),
      { numRuns: 300 },
    )
  })

  it('are empty for a path that does not occur', () => {
    fc.assert(
      fc.property(withPath(texts), ({ text, path }) => {
        expect(found(text, ...path, 'missing')).toEqual([])
        expect(found(text, ...path, 99)).toEqual([])
        expect(found(text, 'missing', ...path)).toEqual([])
      }),
    )
  })

  it('are found exactly in the texts that JSON.parse accepts', () => {
    const bytes = [...'{}[]",:\\ue0-+.1xtn \n\u0001', '']
    const breaks = fc.array(fc.tuple(fc.nat(), fc.constantFrom(...bytes), fc.nat(1)), {
      minLength: 1,
      maxLength: 3,
    })
    let valid = 0
    fc.assert(
      fc.property(texts, breaks, ({ text }, list) => {
        const broken = list.reduce((one, [where, by, gone]) => {
          const place = where % (one.length + 1)
          return one.slice(0, place) + by + one.slice(place + gone)
        }, text)
        const isValid = reads(broken)
        if (isValid) valid++
        expect(findSpans(Buffer.from(broken), [])).toHaveLength(isValid ? 1 : 0)
      }),
      { numRuns: 1_500 },
    )
    expect(valid).toBeGreaterThan(100)
    expect(valid).toBeLessThan(1_400)
  })

  it.each([
    '',
    ' ',
    '{',
    '}',
    '[1,]',
    '{"a":1,}',
    '[1 2]',
    '[,]',
    '{"a"}',
    '{a:1}',
    "{'a':1}",
    '{"a":1}}',
    '{"a":01}',
    '{"a":.5}',
    '{"a":1.}',
    '{"a":1e}',
    '{"a":+1}',
    '{"a":-}',
    '{"a":tru}',
    '{"a":nulll}',
    '{"a":"\\x"}',
    '{"a":"\\u12g4"}',
    '{"a":"',
    '{"a":"\t"}',
    '{"a":[}]',
    '[{]}',
    '{"a":1} {}',
    '\ufeff{"a":1}',
    '{"a":NaN}',
    '{"a":1}//',
  ])('are empty in %j, which JSON.parse refuses', text => {
    expect(reads(text)).toBe(false)
    expect(found(text, 'a')).toEqual([])
    expect(found(text)).toEqual([])
  })

  it('are found for an escaped key, and not for a key that only looks alike', () => {
    expect(found('{"\\u0061":1,"a":2}', 'a')).toEqual(['1', '2'])
    expect(found('{"aa":1,"A":2,"a ":3,"\\"a":4}', 'a')).toEqual([])
    expect(found('{"0":"zero"}', 0)).toEqual([])
    expect(found('["zero"]', '0')).toEqual([])
    expect(found('{"a":[{"a":1}]}', 'a', 0, 'a')).toEqual(['1'])
  })

  it('do not depend on the depth', () => {
    const levels = 1_000_000
    const deep = `{"a":${'['.repeat(levels)}${']'.repeat(levels)},"b":{"c":1}}`
    expect(found(deep, 'b', 'c')).toEqual(['1'])
    expect(found('['.repeat(levels), 0)).toEqual([])
  })

  it('are found in large lines in one pass', () => {
    const members = Array.from({ length: 50_000 }, (_, index) => `"k${index}":${index}`).join()
    const json = Buffer.from(`{"params":{${members},"sessionId":"s"},"image":"${'A'.repeat(1_000_000)}"}`)
    const once = quickest(() => expect(findSpans(json, ['missing'])).toEqual([]))
    const looking = quickest(() => expect(findSpans(json, ['params', 'sessionId'])).toHaveLength(1))
    expect(looking).toBeLessThan(10 * once)
  })
})

describe('an edit', () => {
  it('replaces values and changes no other byte', () => {
    fc.assert(
      fc.property(withPath(texts), fc.constantFrom('7', '"é🧶"', '{"x":[]}'), (one, by) => {
        const json = Buffer.from(one.text)
        const edited = applyEdits(
          json,
          findSpans(json, one.path).map(span => ({ span, by })),
        )
        expect(restored(edited, json, at(one, one.path), by)).toEqual(json)
        const before = JSON.parse(one.text)
        if (isRead(before, one.path))
          expect(JSON.parse(edited.toString())).toEqual(replaced(before, one.path, JSON.parse(by)))
      }),
      { numRuns: 300 },
    )
  })

  it('keeps bytes that are not UTF-8', () => {
    const json = Buffer.concat([Buffer.from('{"x":"'), Buffer.from([0xff, 0xfe]), Buffer.from('","id":1}')])
    const edited = withMember(json, ['id'], '2')
    expect(edited.equals(Buffer.from(json.map((byte, at) => (at === json.length - 2 ? 0x32 : byte))))).toBe(
      true,
    )
  })

  it('accepts its spans in any order, and keeps the order of insertions at one position', () => {
    const put = (from: number, to: number, by: string) => ({ span: { from, to }, by })
    expect(
      applyEdits(Buffer.from('[1,2]'), [put(3, 4, 'b'), put(1, 2, 'a'), put(1, 1, 'x'), put(1, 1, 'y')]),
    ).toEqual(Buffer.from('[xya,b]'))
    expect(() => applyEdits(Buffer.from('[1,2]'), [put(1, 3, 'a'), put(2, 4, 'b')])).toThrow(RangeError)
    expect(() => applyEdits(Buffer.from('[]'), [put(1, 5, 'a')])).toThrow(RangeError)
  })
})

describe('a member that is set', () => {
  const paths = fc.array(fc.constantFrom('a', 'b', 'id', 'é🧶', '__proto__'), { minLength: 1, maxLength: 3 })

  it('is there for every reader of the text, and the other members are unchanged', () => {
    fc.assert(
      fc.property(objects, paths, ({ text }, path) => {
        const edited = withMember(Buffer.from(text), path, '{"new":true}')
        const after = JSON.parse(edited.toString())
        expect(isRead(after, path)).toBe(true)
        expect(after).toEqual(set(JSON.parse(text), path, { new: true }))
        // Also for readers that use the first of two.
        for (const span of findSpans(edited, path))
          expect(edited.toString('utf8', span.from, span.to)).toBe('{"new":true}')
      }),
      { numRuns: 300 },
    )
  })

  it.each([
    ['{}', ['a'], '{"a":1}'],
    ['{ }', ['a', 'b'], '{"a":{"b":1} }'],
    ['{"x":0}', ['a'], '{"a":1,"x":0}'],
    [' {"a": 0 }\r', ['a'], ' {"a": 1 }\r'],
    ['{"a":null}', ['a', 'b'], '{"a":{"b":1}}'],
    ['{"a":{"b":0},"a":null}', ['a', 'b'], '{"a":{"b":1},"a":{"b":1}}'],
    ['{"a":12345678901234567890}', ['b'], '{"b":1,"a":12345678901234567890}'],
    ['[]', ['a'], '[]'],
    ['{"a":1', ['a'], '{"a":1'],
  ])('turns %s with %j into %s', (text, path, edited) => {
    expect(withMember(Buffer.from(text), path, '1').toString()).toBe(edited)
  })
})

describe('inserted first elements', () => {
  it.each([
    ['{"prompt":[]}', '{"prompt":[1,2]}'],
    ['{"prompt":[ ]}', '{"prompt":[1,2 ]}'],
    ['{"prompt":[ {} ]}', '{"prompt":[1,2, {} ]}'],
    ['{"prompt":[3],"prompt":[4]}', '{"prompt":[1,2,3],"prompt":[1,2,4]}'],
    ['{"prompt":"text"}', '{"prompt":"text"}'],
    ['{}', '{}'],
    ['{"prompt":[3]', '{"prompt":[3]'],
  ])('turn %s into %s', (text, edited) => {
    expect(withFirstElements(Buffer.from(text), ['prompt'], ['1', '2']).toString()).toBe(edited)
  })

  it('leave the rest unchanged', () => {
    fc.assert(
      fc.property(texts, ({ text, root }) => {
        const json = Buffer.from(`{"params":{"prompt":${text}}}`)
        const edited = withFirstElements(json, ['params', 'prompt'], ['"first"'])
        const expected = root.type === 'array' ? ['first', ...JSON.parse(text)] : JSON.parse(text)
        expect(JSON.parse(edited.toString())).toEqual({ params: { prompt: expected } })
      }),
    )
  })

  it('may be empty', () => {
    const json = Buffer.from('{"prompt":[3]}')
    expect(withFirstElements(json, ['prompt'], [])).toBe(json)
  })
})

/** The least of several times: other processes use this machine, too. */
function quickest(work: () => void): number {
  const times = Array.from({ length: 5 }, () => {
    const took = processorTimer()
    work()
    return took()
  })
  return Math.min(...times)
}

function reads(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** The edited text with the old values restored, by counting only, so that it does not depend on JSON. */
function restored(edited: Buffer, json: Buffer, spans: readonly JsonSpan[], by: string): Buffer {
  const pieces: Buffer[] = []
  let here = 0
  let there = 0
  for (const { from, to } of spans) {
    pieces.push(edited.subarray(there, there + from - here), json.subarray(from, to))
    there += from - here + Buffer.byteLength(by)
    here = to
  }
  return Buffer.concat([...pieces, edited.subarray(there)])
}

function set(value: unknown, path: readonly string[], to: unknown): unknown {
  const [key, ...rest] = path
  if (key === undefined) return to
  const object = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  const inner = Object.getOwnPropertyDescriptor(object, key)?.value
  const others = Object.entries(object).filter(([name]) => name !== key)
  return Object.fromEntries([...others, [key, set(inner, rest, to)]])
}
