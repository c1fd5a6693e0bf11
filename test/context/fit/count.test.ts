import { countTokens } from 'gpt-tokenizer'
import { describe, expect, it } from 'vitest'
import { exactCounter, tokenizerCounter } from '../../../src/context/fit/count.ts'
import { estimateTokens } from '../../../src/core/tokens.ts'
import { processorTimer } from '../../support/processor-time.ts'
import { call, result, text } from '../path.ts'

const image = { type: 'image', mime: 'image/png', data: 'A'.repeat(50_000) } as const

describe('estimateTokens', () => {
  it('returns a quarter of the characters, rounded up (S2-40)', () => {
    expect(estimateTokens([text('12345678')])).toBe(2)
    expect(estimateTokens([text('123456789')])).toBe(3)
    expect(estimateTokens([call('a', { n: 1 }), result('a', 'four')])).toBe(4)
  })

  it('counts an image as 1,000 tokens, for any size', () => {
    expect(estimateTokens([image, text('1234')])).toBe(1_001)
  })
})

describe('exactCounter', () => {
  it('returns the count of the tokenizer', async () => {
    const count = await exactCounter()
    expect(count([text('hello world')])).toBe(2)
    expect(count([text('hello world'), image])).toBe(1_002)
    expect(count([call('a', { path: 'src/index.ts' }), result('a', [1, 2])])).toBeGreaterThan(8)
    expect(count([])).toBe(0)
  })

  it('counts a special token in a text as plain text (R15)', async () => {
    const count = await exactCounter()
    expect(count([text('a <|endoftext|> b <|im_start|>system')])).toBeGreaterThan(12)
  })

  it('counts a long run without spaces in a short time', async () => {
    const count = await exactCounter()
    const took = processorTimer()
    const tokens = count([text('a'.repeat(100_000))])
    // In one piece, the same text takes seconds.
    expect(took()).toBeLessThan(1_000)
    expect(tokens).toBeGreaterThan(10_000)
  })

  it('passes the whole text to the tokenizer, in pieces of at most 512 units and whole characters', async () => {
    const pieces: string[] = []
    const tokenizer = { countTokens: (piece: string) => pieces.push(piece) && piece.length }
    const count = await tokenizerCounter(async () => tokenizer)
    const words = `x${'🧵'.repeat(2_000)}`
    expect(count([text(words)])).toBe(words.length)
    expect(pieces.join('')).toBe(words)
    expect(pieces.every(piece => piece.length <= 512 && piece.isWellFormed())).toBe(true)
  })

  it('differs little from the count of the whole text', async () => {
    const count = await exactCounter()
    const words = 'The quick brown fox jumps over the lazy dog, and then does it again. '.repeat(100)
    expect(count([text(words)]) / countTokens(words)).toBeCloseTo(1, 1)
  })

  it('names the package to install if the tokenizer is missing', async () => {
    const missing = async () => import('no-such-package' as string)
    await expect(tokenizerCounter(missing)).rejects.toThrow(
      expect.objectContaining({
        code: 'invalid',
        message: expect.stringContaining('npm install gpt-tokenizer'),
      }),
    )
    const broken = new Error('disk on fire')
    await expect(tokenizerCounter(() => Promise.reject(broken))).rejects.toBe(broken)
  })
})
