import { describe, expect, it } from 'vitest'
import type { Json } from '../../../src/core/json.ts'
import { clip, mostSearchedBytes } from '../../../src/core/search/clip.ts'
import { textsOf } from '../../../src/core/search/texts.ts'

const textOf = (output: Json) => textsOf([{ type: 'tool_result', callId: 'c', output }])[0]!

describe('the text of a tool result', () => {
  it('has the strings, numbers and keys of JSON, in their order', () => {
    const found = { path: 'a.ts', lines: [1, 2, { text: 'x', ok: true }], none: null }
    expect(textOf(found)).toBe('path\na.ts\nlines\n1\n2\ntext\nx\nok\nnone')
    expect(textOf(['a', ['b', 'c'], 'd'])).toBe('a\nb\nc\nd')
  })

  it('is found in a list and an object of any length', () => {
    const list = Array.from({ length: 300_000 }, (_, i) => i)
    expect(textOf(list).startsWith('0\n1\n2\n')).toBe(true)
    const object = Object.fromEntries(list.map(i => [`key${i}`, i]))
    expect(textOf(object).startsWith('key0\n0\nkey1\n1\n')).toBe(true)
  })

  it('ends after its searched beginning', () => {
    const lines = Array.from({ length: 30_000 }, (_, i) => `line ${i} of a long file → ö`)
    const text = textOf(lines)
    expect(clip(text)).toBe(clip(lines.join('\n')))
    expect(text.length).toBeLessThan(mostSearchedBytes + 100)
  })
})
