import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InvalidError } from '../../../src/core/errors.ts'
import type { Json } from '../../../src/core/json.ts'
import { prepareLarge } from '../../../src/core/large/prepare-large.ts'
import { finishAtOnce, type Stepwise } from '../../../src/core/large/stepwise.ts'
import { areLarge, largeFrom } from '../../../src/core/large/weight.ts'
import type { NewMessage } from '../../../src/core/message.ts'
import { prepareMessages } from '../../../src/core/prepare.ts'

/** The characters of a piece. */
const piece = 262_144

const tool = (output: Json): NewMessage => ({
  role: 'tool',
  content: [{ type: 'tool_result', callId: 'c', output }],
})
const file = (data: string): NewMessage => ({
  role: 'user',
  content: [{ type: 'file', mime: 'application/pdf', data }],
})
const lines = (count: number, text = 'a line of a file') =>
  Array.from({ length: count }, (_, line) => ({ line, text, path: `src/${line}.ts`, found: true }))

/** Both forms of preparing, which must be equal. */
function both(...messages: NewMessage[]) {
  return { inPieces: finishAtOnce(prepareLarge(messages)), atOnce: prepareMessages(messages) }
}

function expectEqual(...messages: NewMessage[]): void {
  const { inPieces, atOnce } = both(...messages)
  expect(inPieces.map(withoutBytes)).toEqual(atOnce.map(withoutBytes))
  for (const [i, { body }] of inPieces.entries())
    for (const [k, blob] of body.blobs.entries())
      expect(Buffer.compare(blob.data, atOnce[i]!.body.blobs[k]!.data)).toBe(0)
}

function withoutBytes({ body, ...rest }: ReturnType<typeof prepareMessages>[number]) {
  return { ...rest, text: body.text, hash: body.hash, blobs: body.blobs.map(blob => blob.hash) }
}

describe('prepareLarge stores the same bytes as prepareMessages', () => {
  it.each<[string, NewMessage]>([
    ['a text', { role: 'user', content: 'word '.repeat(400_000) }],
    [
      'a text in blocks, with metadata',
      {
        role: 'user',
        content: [{ type: 'text', text: 'x'.repeat(2e6) }],
        metadata: { long: 'y'.repeat(20_000) },
        tokens: 7,
        label: 'l',
        createdAt: new Date(5),
      },
    ],
    [
      'a text with a character at the end of a piece',
      { role: 'user', content: `${'x'.repeat(piece - 1)}👋${'→'.repeat(piece)}` },
    ],
    [
      'a text with a lone surrogate',
      { role: 'user', content: `${'x'.repeat(piece)}\ud800${'y'.repeat(piece)}` },
    ],
    [
      'a text with a lone surrogate at the end of a piece',
      { role: 'user', content: `${'x'.repeat(piece - 1)}\ud800y` },
    ],
    ['JSON', tool(lines(20_000))],
    ['JSON beyond Latin-1', tool(lines(20_000, 'grüße → 👋'))],
    ['nested JSON', tool({ a: { deep: [lines(9_000), [lines(9_000)], 'x'], b: 1 }, c: lines(9_000) })],
    ['an object of many members', tool(Object.fromEntries(lines(12_000).map(line => [line.path, line])))],
    ['an object with numbers as keys', tool({ b: lines(9_000), 7: lines(9_000), a: 1, 3: 'x' })],
    ['long strings in JSON', tool(lines(40, '→'.repeat(20_000)))],
    [
      'strings around the limit of a blob',
      tool(['x'.repeat(16_384), 'x'.repeat(16_385), '→'.repeat(5_461), '→'.repeat(5_462)]),
    ],
    ['the same string twice', tool(['x'.repeat(20_000), 'x'.repeat(20_000), 'y'.repeat(20_000)])],
    ['reserved keys', tool([{ $blob: 'x'.repeat(20_000), b: 1, $$blob: { $blob: 1 } }, lines(9_000)])],
    ['an attachment', file(Buffer.alloc(1_500_000, 'bytes').toString('base64'))],
    [
      'an attachment without padding',
      file(Buffer.alloc(1_500_001, 'bytes').toString('base64').replaceAll('=', '')),
    ],
    ['an attachment for URLs', file(Buffer.alloc(1_500_001, '\xff\xfe').toString('base64url'))],
    [
      'padding between two pieces',
      file(
        `${Buffer.alloc((piece / 4) * 3 - 1).toString('base64')}${Buffer.alloc(30_000).toString('base64')}`,
      ),
    ],
    [
      'an attached text',
      {
        role: 'user',
        content: [
          { type: 'file', mime: 'text/plain', data: Buffer.alloc(300_000, 'wörd ').toString('base64') },
        ],
      },
    ],
    [
      'an unknown block',
      {
        role: 'assistant',
        content: [
          { type: 'other', list: lines(9_000) },
          { type: 'text', text: 'x' },
        ],
      },
    ],
    [
      'the input of a tool',
      {
        role: 'assistant',
        content: [{ type: 'tool_call', callId: 'c', name: 'edit', input: { list: lines(9_000) } }],
      },
    ],
    [
      'parts of a result',
      tool([
        { type: 'text', text: 'x'.repeat(20_000) },
        { type: 'image', mime: 'image/png', data: 'AAAA' },
      ]),
    ],
    [
      'absent members and own members of any name',
      tool(JSON.parse(`{"__proto__":{"a":"${'x'.repeat(20_000)}"},"constructor":1}`)),
    ],
  ])('for %s', (_, message) => {
    expectEqual(message, message)
  })

  it('for any JSON', () => {
    const long = fc.constantFrom('x'.repeat(17_000), '→'.repeat(6_000), 'ab\ud800'.repeat(6_000))
    const json = fc.letrec(tie => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.jsonValue() as fc.Arbitrary<Json>,
        long,
        fc.array(tie('value')),
        fc.dictionary(
          fc.oneof(fc.string(), fc.constantFrom('$blob', '$$blob', 'data', '__proto__')),
          tie('value'),
        ),
      ),
    })).value as fc.Arbitrary<Json>
    fc.assert(
      fc.property(json, json, (value, data) => {
        const metadata = { value }
        expectEqual({ ...tool(value), metadata }, { role: 'user', content: [{ type: 'other', data }] })
      }),
      { numRuns: 60 },
    )
  })

  it('leaves out undefined members', () => {
    expectEqual({
      role: 'user',
      content: [{ type: 'text', text: 'x', name: undefined } as never],
      metadata: { a: undefined } as never,
    })
  })
})

describe('prepareLarge refuses the same messages', () => {
  const cycle: unknown[] = []
  cycle.push(cycle)
  let deep: Json = 1
  for (let i = 0; i < 300; i++) deep = [deep]
  it.each<[string, unknown]>([
    ['a list of none', []],
    ['text', ['x']],
    ['an unknown field', [{ role: 'user', content: 'x', metadta: {} }]],
    ['an unknown role', [{ role: 'x', content: 'x' }]],
    ['a content that is an object', [{ role: 'user', content: { a: 1 } }]],
    ['a block that is null', [{ role: 'user', content: [null] }]],
    ['a block without a type', [{ role: 'user', content: [{ text: 'x' }] }]],
    ['a missing field', [{ role: 'user', content: [{ type: 'text' }] }]],
    ['a number that JSON has not', [tool([1, Number.NaN] as Json)]],
    ['a date', [tool({ at: new Date() } as never)]],
    ['a function', [tool({ f: () => 1 } as never)]],
    ['a hole in a list', [tool([1, undefined] as never)]],
    ['a cycle', [tool(cycle as never)]],
    ['deep nesting', [tool(deep)]],
    ['metadata that is a list', [{ role: 'user', content: 'x', metadata: [] }]],
    ['a wrong time', [{ role: 'user', content: 'x', createdAt: 1 }]],
    ['negative tokens', [{ role: 'user', content: 'x', tokens: -1 }]],
  ])('with the same error: %s', (_, messages) => {
    const refusal = (prepare: (given: NewMessage[]) => unknown) => {
      try {
        return prepare(messages as NewMessage[])
      } catch (error) {
        return error
      }
    }
    const expected = refusal(prepareMessages)
    expect(expected).toBeInstanceOf(InvalidError)
    // Before the first pause.
    expect(refusal(prepareLarge)).toEqual(expected)
  })

  it('a body that is too long', () => {
    const many = Array.from({ length: 6 }, () => '\ud800'.repeat(2_000_000))
    expect(() => finishAtOnce(prepareLarge([tool(many)]))).toThrow('must be at most 67108864 characters')
  })
})

describe('prepareLarge', () => {
  it('stores the messages as they were when it was called', () => {
    const output = lines(20_000)
    const content = [{ type: 'tool_result' as const, callId: 'c', output }]
    const messages: NewMessage[] = [{ role: 'tool', content }]
    const expected = prepareMessages(messages)[0].body.hash
    const preparing = prepareLarge(messages)
    preparing.next()
    for (const line of output) line.text = 'changed'
    output.pop()
    content.pop()
    messages.length = 0
    expect(finishAtOnce(preparing)[0].body.hash).toBe(expected)
  })

  it.each<[string, NewMessage]>([
    ['a text', { role: 'user', content: '→'.repeat(3 * largeFrom) }],
    ['JSON', tool(lines(60_000))],
    ['an object of many members', tool(Object.fromEntries(lines(15_000).map(line => [line.path, line])))],
    ['one list in another', tool([[[lines(60_000)]]])],
    ['an attachment', file(Buffer.alloc(3 * largeFrom).toString('base64'))],
  ])('pauses after each 300,000 characters at the latest: %s', (_, message) => {
    const pauses = countPauses(prepareLarge([message]))
    expect(pauses).toBeGreaterThanOrEqual(JSON.stringify(message).length / 300_000)
  })
})

describe('areLarge', () => {
  it('says so of large messages of any kind', () => {
    const half = 'x'.repeat(largeFrom / 2 + 1)
    expect(areLarge([{ role: 'user', content: half }])).toBe(false)
    expect(
      areLarge([
        { role: 'user', content: half },
        { role: 'user', content: half },
      ]),
    ).toBe(true)
    expect(areLarge([{ role: 'user', content: [{ type: 'text', text: half + half }] }])).toBe(true)
    expect(areLarge([{ role: 'user', content: 'x', metadata: { half, more: half } }])).toBe(true)
    expect(areLarge([file(half + half)])).toBe(true)
    expect(areLarge([tool(lines(1_000))])).toBe(false)
    expect(areLarge([tool(lines(30_000))])).toBe(true)
    expect(areLarge([tool({ a: { b: { c: lines(30_000) } } })])).toBe(true)
    expect(areLarge([tool([...lines(1_000), half + half] as Json)])).toBe(true)
  })

  it('leaves other input to the check', () => {
    expect(areLarge([null as never])).toBe(false)
    expect(areLarge([{} as never])).toBe(false)
  })
})

function countPauses(work: Stepwise<unknown>): number {
  let pauses = 0
  while (!work.next().done) pauses++
  return pauses
}
