import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Key, keyReader } from '../../../../src/cli/chat/input/key-reader.ts'

/** Keys by name, text in quotes, pastes in brackets. */
function seen(...chunks: readonly string[]): readonly string[] {
  const reader = keyReader()
  const keys = chunks.flatMap(chunk => reader.read(chunk))
  return [...keys, ...reader.flush()].map(shown)
}

function shown(key: Key): string {
  return key.type === 'key' ? key.name : key.type === 'text' ? `"${key.text}"` : `[${key.text}]`
}

describe('the key reader', () => {
  it('distinguishes text from keys', () => {
    expect(seen('héllo 🧵\r')).toEqual(['"héllo 🧵"', 'enter'])
    expect(seen('a\x7fb\x03')).toEqual(['"a"', 'backspace', '"b"', 'interrupt'])
    expect(seen('\x1b[A\x1bOB\x1b[1;5C')).toEqual(['up', 'down', 'word-right'])
  })

  it('recognizes the keys that continue a line', () => {
    for (const sent of ['\x1b\r', '\n', '\x1b[13;2u', '\x1b[27;2;13~'])
      expect(seen(sent)).toEqual(['newline'])
  })

  it('reads Enter keys that were typed before raw mode', () => {
    expect(seen('hello\n')).toEqual(['"hello"', 'enter'])
    expect(seen('hello', '\n')).toEqual(['"hello"', 'newline'])
  })

  it('reports a lone Escape only if nothing follows', () => {
    const reader = keyReader()
    expect(reader.read('\x1b')).toEqual([])
    expect(reader.waits).toBe(true)
    expect(reader.flush()).toEqual([{ type: 'key', name: 'escape' }])
    expect(reader.waits).toBe(false)
    expect(seen('\x1b', '[A')).toEqual(['up'])
  })

  it('keeps a paste together, whatever it contains', () => {
    expect(seen('\x1b[200~one\r\ntwo\rthree\x1b[A\x03\x1b[201~x')).toEqual([
      '[one\ntwo\nthree\x1b[A\x03]',
      '"x"',
    ])
  })

  it('drops unknown sequences and control characters without a meaning', () => {
    expect(seen('a\x1b[99;99Xb\x1b[?1;2cc\x00\x9bd')).toEqual(['"a"', '"b"', '"c"', '"d"'])
  })

  it('reads the same keys however the bytes are split', () => {
    const piece = fc.constantFrom(
      'a',
      'ü',
      '\r',
      '\x1b[A',
      '\x1b[3~',
      '\x1b\r',
      '\x1b[200~x\ny\x1b[201~',
      '\x7f',
    )
    const joined = (keys: readonly string[]) => keys.join('').replaceAll('""', '')
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 8 }), fc.nat(40), (pieces, at) => {
        const all = pieces.join('')
        expect(joined(seen(all.slice(0, at), all.slice(at)))).toBe(joined(seen(all)))
      }),
      { seed: 4, numRuns: 500 },
    )
  })
})
