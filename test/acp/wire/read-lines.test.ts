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
  it('are the bytes between line ends, in any number of chunks', () => {
    const bytes = fc
      .uint8Array({ maxLength: 60 })
      .map(list => Buffer.from(list.map(byte => (byte < 60 ? 10 : byte))))
    fc.assert(
      fc.property(bytes, fc.array(fc.nat(60), { maxLength: 20 }), (all, cuts) => {
        const places = [0, ...cuts.filter(cut => cut < all.length).toSorted((a, b) => a - b), all.length]
        const chunks = places.slice(1).map((to, index) => all.subarray(places[index], to))
        // The bytes behind the last line end are not a JSON object, so they are not a line.
        expect(bytesOf(split(chunks))).toEqual(all.toString('latin1').split('\n').slice(0, -1))
      }),
    )
  })

  it('are parsed, also if a character was split between two chunks', () => {
    const text = Buffer.from('{"method":"a","params":{"text":"é🧶"}}\n')
    const lines = split([...text].map(byte => Buffer.from([byte])))
    expect(lines.map(({ message }) => message)).toEqual([{ method: 'a', params: { text: 'é🧶' } }])
  })

  it('keep a carriage return, and all bytes that are not parsed', () => {
    const [line] = split([' {"id": 1.0}\r\n'])
    expect(line!.bytes.toString()).toBe(' {"id": 1.0}\r')
    expect(line!.message).toEqual({ id: 1 })
  })

  it('are complete, or a message, at the end of the input', () => {
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
  ])('are not parsed if they are not a JSON object: %j', text => {
    expect(parseLine(Buffer.from(text))).toEqual({ bytes: Buffer.from(text), message: null })
  })

  it('are not parsed if they are nested too deeply, and are kept unchanged', () => {
    const nested = (levels: number) => Buffer.from(`{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`)
    const fits = parseLine(nested(1_000))
    expect(JSON.stringify(fits.message)).toHaveLength(fits.bytes.length)
    expect(parseLine(nested(1_001)).message).toBeNull()
    expect(parseLine(nested(3_000_000)).message).toBeNull()
    const brackets = { text: '"[\\'.repeat(3_000), more: [[]] }
    expect(parseLine(Buffer.from(JSON.stringify(brackets))).message).toEqual(brackets)
  })
})

describe('a line beyond the limit', () => {
  it('throws after the lines before it, and no line follows', () => {
    const lines: WireLine[] = []
    const splitter = createLineSplitter(line => lines.push(line), { maxBytes: 8 })
    splitter.push(Buffer.from('{"id":1}\n1234'))
    splitter.push(Buffer.from('5678'))
    expect(() => splitter.push(Buffer.from('9'))).toThrow(new LineTooLong(8))
    splitter.push(Buffer.from('\n{"id":2}\n'))
    splitter.end()
    expect(bytesOf(lines)).toEqual(['{"id":1}'])
  })

  it('throws also if its line end is in the same chunk', () => {
    const splitter = createLineSplitter(() => {}, { maxBytes: 8 })
    expect(() => splitter.push(Buffer.from('123456789\n'))).toThrow('it sent a line of more than 8 bytes')
  })
})
