import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { styleFor } from '../../../src/cli/output/style.ts'
import { safeStream, stdoutSink } from '../../../src/cli/output/text-sink.ts'
import { memoryOutput } from '../memory-output.ts'

const style = styleFor({ isTerminal: false, env: {}, noColor: true })

describe('an answer in pieces (R17)', () => {
  const seed = 20_261_116
  const text = fc.array(
    fc.constantFrom(
      'a',
      ' ',
      '\n',
      '\r',
      '\r\n',
      '\x1b',
      '\x1b[31m',
      '\x9b',
      '\u202e',
      '👩‍👩‍👧',
      'é',
      '\0',
      '\u2028',
    ),
    { maxLength: 30 },
  )

  it('is printed as the whole would be, wherever it is split, and contains no control characters', () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(40)), (pieces, cuts) => {
        const whole = pieces.join('')
        const stream = safeStream(style)
        const places = [...new Set(cuts)].filter(at => at < whole.length).sort((a, b) => a - b)
        const torn = [0, ...places].map((at, i) => whole.slice(at, places[i] ?? whole.length))
        const shown = torn.map(piece => stream.push(piece)).join('') + stream.end()
        expect(shown).toBe(style.safe(whole))
        expect(shown).not.toMatch(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2028]/u)
      }),
      { seed, numRuns: 500 },
    )
  })

  it('ends its line before other output, and continues in a new paragraph', () => {
    const out = memoryOutput()
    const sink = stdoutSink({ out })
    sink.pause()
    sink.push('I will ')
    sink.push('look.')
    sink.pause()
    sink.pause()
    sink.push('Done.\n')
    sink.pause()
    expect(out.written.join('')).toBe('I will look.\n\nDone.\n')
  })
})
