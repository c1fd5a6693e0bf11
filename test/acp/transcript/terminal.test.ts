import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createBoundedText } from '../../../src/acp/transcript/terminal.ts'

it('a bounded text keeps its beginning and its end, and counts the bytes between them', () => {
  const text = createBoundedText(4)
  for (const chunk of ['abc', 'defgh', 'ijkl', 'mnopqrstu']) text.append(chunk)
  expect(text.text()).toBe('abcd\n[… 13 bytes left out …]\nrstu')
  text.append('v')
  expect(text.text()).toBe('abcd\n[… 14 bytes left out …]\nstuv')
  text.replace('short')
  expect(text.text()).toBe('short')
})

it('a bounded text loses no byte of any chunks, and splits no surrogate pair', () => {
  const chunks = fc.array(fc.string({ unit: 'grapheme', maxLength: 8 }), { maxLength: 12 })
  fc.assert(
    fc.property(chunks, fc.integer({ min: 2, max: 10 }), (given, most) => {
      const text = createBoundedText(most)
      for (const chunk of given) text.append(chunk)
      const whole = given.join('')
      const kept = text.text()
      expect(kept.isWellFormed()).toBe(whole.isWellFormed())
      const [, head, bytes, tail] = /^(.*)\n\[… (\d+) bytes left out …\]\n(.*)$/s.exec(kept) ?? []
      if (bytes === undefined) expect(kept).toBe(whole)
      else {
        expect(whole.startsWith(head!) && whole.endsWith(tail!)).toBe(true)
        expect(Buffer.byteLength(head! + tail!) + Number(bytes)).toBe(Buffer.byteLength(whole))
        expect(tail!.length).toBeLessThanOrEqual(most)
      }
    }),
  )
})
