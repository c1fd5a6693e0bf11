import { afterEach, describe, expect, it } from 'vitest'
import { knownAliases } from '../../src/api/full-model-name.ts'
import { costOf, priceOf, pricesAsOf } from '../../src/models/model-prices.ts'
import { openModel } from '../../src/models/open.ts'
import { type ModelServer, startModelServer } from '../support/models/server.ts'
import { answerOf, user } from './conversation.ts'

let server: ModelServer | undefined
afterEach(() => server?.close())

describe('the table of prices', () => {
  it('has a date, and a price with a cache price for every short name of the command', () => {
    expect(new Date(pricesAsOf).getTime()).not.toBeNaN()
    for (const model of Object.values(knownAliases)) {
      expect(priceOf(model), model).toMatchObject({
        input: expect.any(Number),
        cacheRead: expect.any(Number),
      })
    }
  })

  it('ignores the date of a name, and knows no price of a model that only begins alike', () => {
    expect(priceOf('anthropic/claude-sonnet-4-5-20250929')).toEqual(priceOf('anthropic/claude-sonnet-4-5'))
    expect(priceOf('openai/gpt-5-2025-08-07')).toEqual(priceOf('openai/gpt-5'))
    for (const name of ['openai/gpt-5-mini', 'compatible/gpt-5', 'gpt-5', 'scripted', 'constructor'])
      expect(priceOf(name), name).toBeNull()
  })
})

describe('costOf', () => {
  const price = { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 }

  it('charges cached tokens at their own price', () => {
    const usage = { input: 1_000_000, output: 100_000, cacheRead: 600_000, cacheWrite: 100_000 }
    expect(costOf(usage, price)).toBeCloseTo(0.3 * 2 + 0.6 * 0.2 + 0.1 * 2.5 + 0.1 * 10, 10)
  })

  it('uses the other price for a long input', () => {
    const tiered = { input: 1, output: 2, above: { tokens: 1_000, input: 10, output: 20 } }
    expect(costOf({ input: 1_000, output: 1_000 }, tiered)).toBeCloseTo(0.003, 10)
    expect(costOf({ input: 1_001, output: 1_000 }, tiered)).toBeCloseTo(0.03001, 10)
  })

  it('is unknown without a count, and without a price of cached tokens that were used', () => {
    expect(costOf({ input: 10 }, price)).toBeNull()
    expect(costOf({ input: 10, output: 1, cacheRead: 5 }, { input: 1, output: 1 })).toBeNull()
    expect(costOf({ input: 10, output: 1, cacheRead: 0 }, { input: 1, output: 1 })).not.toBeNull()
  })
})

describe('the usage of an answer', () => {
  const usage = { input: 1_000, output: 200, cacheRead: 400 }

  async function answered(name: string, price?: { input: number; output: number; cacheRead: number }) {
    server = await startModelServer({ reply: () => ({ parts: [{ text: 'ok' }], usage }) })
    const model = await openModel(name, {
      env: {},
      keys: { openai: 'k' },
      baseUrls: server.baseUrls,
      ...(price && { price }),
    })
    return (await answerOf(model, { messages: [user('hi')] })).usage
  }

  it('has the cost by the published price, or by the given one', async () => {
    const known = await answered('openai/gpt-5.5')
    expect(known.cost).toBeCloseTo((600 * 5 + 400 * 0.5 + 200 * 30) / 1e6, 12)
    await server?.close()
    const given = await answered('compatible/mine', { input: 1, output: 2, cacheRead: 0.5 })
    expect(given.cost).toBeCloseTo((600 * 1 + 400 * 0.5 + 200 * 2) / 1e6, 12)
  })

  it('has no cost if the price is unknown', async () => {
    expect(await answered('compatible/mine')).not.toHaveProperty('cost')
  })
})
