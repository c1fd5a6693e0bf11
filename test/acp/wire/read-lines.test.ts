import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLineSplitter, LineTooLong, parseLine } from '../../../src/acp/wire/read-lines.ts'
import type { WireLine } from '../../../src/acp/wire/wire-line.ts'

function split(chunks: readonly (Buffer | string)[], options: { readonly maxBytes?: number } = {}) {
  const lines: WireLine[] = []
  const splitter = createLineSplitter(line => lines.push(line), options)
  for (const chunk of chunks) splitter.push(Buffer.from(chunk))
  splitter.end()
  return lines
}

const bytesOf = (lines: readonly WireLine[]) => lines.map(({ bytes }) => bytes.toString('latin1'))

describe('lines', () => {
  it('are the bytes between line ends, in however many pieces they come', () => {
    const bytes = fc
      .uint8Array({ maxLength: 60 })
      .map(list => Buffer.from(list.map(byte => (byte < 60 ? 10 : byte))))
    fc.assert(
      fc.property(bytes, fc.array(fc.nat(60), { maxLength: 20 }), (all, cuts) => {
        const places = [0, ...cuts.filter(cut => cut < all.length).toSorted((a, b) => a - b), all.length]
        const chunks = places.slice(1).map((to, index) => all.subarray(places[index], to))
        // What stands behind the last line end says nothing here: it is no JSON object.
        expect(bytesOf(split(chunks))).toEqual(all.toString('latin1').split('\n').slice(0, -1))
      }),
    )
  })

  it('say what they say, also where a letter was cut in two', () => {
    const text = Buffer.from('{"method":"a","params":{"text":"é🧶"}}\n')
    const lines = split([...text].map(byte => Buffer.from([byte])))
    expect(lines.map(({ message }) => message)).toEqual([{ method: 'a', params: { text: 'é🧶' } }])
  })

  it('keep a carriage return, and everything else that is not read', () => {
    const [line] = split([' {"id": 1.0}\r\n'])
    expect(line!.bytes.toString()).toBe(' {"id": 1.0}\r')
    expect(line!.message).toEqual({ id: 1 })
  })

  it('come before an end only if they are whole', () => {
    expect(bytesOf(split(['{"id":1}\n{"id":2}']))).toEqual(['{"id":1}', '{"id":2}'])
    expect(bytesOf(split(['{"id":1}\n{"id":2']))).toEqual(['{"id":1}'])
    expect(bytesOf(split([]))).toEqual([])
  })

  it.each([
    '',
    'Listening on stdio',
    '{greeting}',
    '[{"id":1}]',
    '"text"',
    'null',
    '7',
    '{"id":1} {"id":2}',
    '\ufeff{"id":1}',
  ])('that are no JSON object say nothing: %j', text => {
    expect(parseLine(Buffer.from(text))).toEqual({ bytes: Buffer.from(text), message: null })
  })

  it('are only read as deep as a stack allows, and passed on whole', () => {
    const nested = (levels: number) => Buffer.from(`{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`)
    const fits = parseLine(nested(1_000))
    expect(JSON.stringify(fits.message)).toHaveLength(fits.bytes.length)
    expect(parseLine(nested(1_001)).message).toBeNull()
    expect(parseLine(nested(3_000_000)).message).toBeNull()
    const brackets = { text: '"[\\'.repeat(3_000), more: [[]] }
    expect(parseLine(Buffer.from(JSON.stringify(brackets))).message).toEqual(brackets)
  })
})

describe('a line that does not end', () => {
  it('is given up, with what came before it heard, and nothing is heard after it', () => {
    const lines: WireLine[] = []
    const splitter = createLineSplitter(line => lines.push(line), { maxBytes: 8 })
    splitter.push(Buffer.from('{"id":1}\n1234'))
    splitter.push(Buffer.from('5678'))
    expect(() => splitter.push(Buffer.from('9'))).toThrow(new LineTooLong(8))
    splitter.push(Buffer.from('\n{"id":2}\n'))
    splitter.end()
    expect(bytesOf(lines)).toEqual(['{"id":1}'])
  })

  it('is given up also where its end comes with it', () => {
    const splitter = createLineSplitter(() => {}, { maxBytes: 8 })
    expect(() => splitter.push(Buffer.from('123456789\n'))).toThrow('it sent a line of more than 8 bytes')
  })
})
