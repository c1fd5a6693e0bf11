import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { extract } from '../../../src/context/summary/extract.ts'
import type { TextMessage } from '../../../src/context/text/as-text.ts'
import { estimateTokens } from '../../../src/core/tokens.ts'
import { processorTimer } from '../../support/processor-time.ts'

const user = (text: string): TextMessage => ({ role: 'user', content: text })
const assistant = (text: string, ...tools: readonly string[]): TextMessage => ({
  role: 'assistant',
  content: [
    { type: 'text', text },
    ...tools.map((name, i) => ({
      type: 'tool_call',
      callId: `${i}`,
      name,
      input: { path: 'src/deep/made.ts' },
    })),
  ],
})

describe('extract', () => {
  const talk = [
    user('Why is the build red?\nLook at src/parser/lex.ts please.'),
    assistant('I look.', 'read_file', 'bash'),
    assistant('The tests fail. We decided to use a queue instead of a lock. It is late.', 'read_file'),
    user('Fix it in package.json too'),
    assistant('Done: all green.'),
  ]

  it('has the requests, decisions, the last answer, the tools and the files', () => {
    expect(extract(talk, { tokens: 500 })).toBe(
      [
        '(Made of 5 messages without a model.)',
        'The user first asked: "Why is the build red? Look at src/parser/lex.ts please."',
        'Later requests: "Fix it in package.json too"',
        'Decisions: "We decided to use a queue instead of a lock."',
        'The assistant said last: "Done: all green."',
        'Tools used: read_file (2×), bash',
        'Files named: src/deep/made.ts (3×), src/parser/lex.ts, package.json',
      ].join('\n'),
    )
  })

  it('continues from the last summary', () => {
    const text = extract(talk, { tokens: 500, previous: 'They had met.' })
    expect(text).toContain('Before that: They had met.\nThen the user asked: "Why is')
  })

  it('quotes as many of the newest requests as fit, and uses the space', () => {
    const asked = Array.from({ length: 60 }, (_, i) => user(`request ${i}: ${'please '.repeat(20)}`))
    const quoted = (tokens: number) =>
      [...extract(asked, { tokens }).matchAll(/"request (\d+)/g)].map(([, n]) => n)
    expect(quoted(10_000)).toHaveLength(60)
    expect(quoted(300).length).toBeGreaterThan(8)
    expect([quoted(300)[0], quoted(300).at(-1)]).toEqual(['0', '59'])
    expect(extract([user('first'), user('short'), user('long '.repeat(200))], { tokens: 200 })).toMatch(
      /"short"; "(long ){50}/,
    )
  })

  it('keeps the beginning and the end of a long last summary', () => {
    const text = extract(talk, {
      tokens: 200,
      previous: `It began. ${'And then. '.repeat(100)}Still open: all.`,
    })
    expect(text).toMatch(/Before that: It began\. .*characters cut.*Still open: all\.\nThen the user/s)
  })

  it('returns a text also without messages', () => {
    expect(extract([], { tokens: 100 })).toBe('(Made of 0 messages without a model.)')
    expect(extract([{ ...user('secret'), erased: {} }], { tokens: 100 })).not.toContain('secret')
  })

  it('is bounded and deterministic, and quotes any text on one line (R15)', () => {
    const said = fc.record({
      role: fc.constantFrom('user', 'assistant'),
      content: fc.string({ unit: 'binary', maxLength: 300 }),
    })
    fc.assert(
      fc.property(
        fc.array(said, { maxLength: 30 }),
        fc.integer({ min: 50, max: 400 }),
        (messages, tokens) => {
          const text = extract(messages as TextMessage[], { tokens, previous: 'x'.repeat(5_000) })
          expect(estimateTokens(text)).toBeLessThanOrEqual(tokens)
          expect(extract(messages as TextMessage[], { tokens, previous: 'x'.repeat(5_000) })).toBe(text)
          // Two of them are around the marker in the last summary.
          expect(text.split(/[\n\r\u2028\u2029\u0085]/).length).toBeLessThanOrEqual(10)
        },
      ),
      { seed: 20_260_117, numRuns: 200 },
    )
  })

  it('takes a short time for texts that are made to slow it down', () => {
    const nasty = [
      'a-'.repeat(50_000),
      '/'.repeat(100_000),
      'a.'.repeat(50_000),
      'a/'.repeat(50_000),
      '. '.repeat(50_000),
    ]
    const took = processorTimer()
    for (const text of nasty) extract([user(text), assistant(text)], { tokens: 500 })
    expect(took()).toBeLessThan(5_000)
  })
})
