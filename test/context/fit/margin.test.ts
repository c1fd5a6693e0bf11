import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fit } from '../../../src/context/fit/fit.ts'
import { roomWithMargin, type Window } from '../../../src/context/fit/window.ts'
import { readContext } from '../../../src/context/read-context.ts'
import type { Message, NewMessage } from '../../../src/core/message.ts'
import { pathOf as storedPath } from '../../../src/core/path.ts'
import type { Store } from '../../../src/core/ports.ts'
import { estimateTokens } from '../../../src/core/tokens.ts'
import { openStore } from '../../../src/stores/open.ts'
import { assistant, call, pathOf, result, results, text, user } from '../path.ts'

describe('roomWithMargin', () => {
  const sizes = fc.tuple(fc.integer({ min: 4, max: 1_000_000 }), fc.integer({ min: 1, max: 100_000_000 }))

  it('keeps at most a quarter of the room free, and drops a multiple that stays the same', () => {
    fc.assert(
      fc.property(sizes, fc.integer({ min: 0, max: 100_000 }), ([room, excess], added) => {
        const stays = roomWithMargin(room + excess, room)
        expect(stays).toBeLessThanOrEqual(room)
        expect(stays).toBeGreaterThan(room * 0.75 - 1)
        const goes = room + excess - stays
        expect(goes & -goes).toBeGreaterThan(room / 8 - 1)
        // While added messages fit into the margin, the same amount is dropped.
        if (stays + added > room) return
        expect(room + excess + added - roomWithMargin(room + excess + added, room)).toBe(goes)
      }),
      { seed: 20_260_401, numRuns: 2_000 },
    )
  })

  it('keeps nothing free if everything fits, or without room', () => {
    expect(roomWithMargin(100, 100)).toBe(100)
    expect(roomWithMargin(100, 0)).toBe(0)
    expect(roomWithMargin(100, -5)).toBe(-5)
    expect(roomWithMargin(100, Number.POSITIVE_INFINITY)).toBe(Number.POSITIVE_INFINITY)
  })
})

describe('the beginning of a context at its limit', () => {
  /** Sizes that vary, but are the same in each run. */
  const varied = (i: number, most: number) => 20 + ((i * 7_919) % most)
  const words = (i: number, most: number) => `${i} `.padEnd(4 * varied(i, most), 'x')
  const chat = pathOf(
    ...Array.from({ length: 800 }, (_, i) => (i % 2 ? assistant : user)(words(i, 200), varied(i, 200))),
  )
  const turn = pathOf(
    user('do it'),
    ...Array.from({ length: 200 }, (_, i) => [
      assistant([text(words(i, 60)), call(`c${i}`)]),
      results(result(`c${i}`, words(i, 800))),
    ]).flat(),
  )

  /** The part of a context at the limit that equals the previous one, up to the first difference. */
  function remembered(path: readonly Message[], window: Window): number {
    let before: readonly string[] = []
    let [sent, known] = [0, 0]
    for (let end = 1; end <= path.length; end++) {
      if (path[end - 1]!.role === 'assistant') continue
      const { messages, left, cut } = fit(path.slice(0, end), window, { system: 'Be kind.' })
      const now = messages.map(({ role, content: blocks }) => JSON.stringify({ role, content: blocks }))
      const same = now.findIndex((message, i) => message !== before[i])
      if (left.length + cut.length > 0) {
        sent += now.join('').length
        known += now.slice(0, same).join('').length
      }
      before = now
    }
    return known / sent
  }

  it('is the same in most calls of a long conversation, so that providers can cache it', () => {
    expect(remembered(chat, { limit: 25_000 })).toBeGreaterThan(0.8)
    // Without a margin: the newest messages have none.
    expect(remembered(chat, { limit: 25_000, keepRecent: 1_000 })).toBeLessThan(0.5)
  })

  it('is the same in most calls of a long turn', () => {
    expect(remembered(turn, { limit: 50_000 })).toBeGreaterThan(0.8)
    expect(remembered(turn, { limit: 50_000, keepRecent: 1_000 })).toBeLessThan(0.5)
  })
})

describe('a context from a tail', () => {
  let store: Store
  beforeAll(async () => {
    store = await openStore(':memory:')
  })
  afterAll(() => store.close())

  it('equals the context from the whole path (S0-29, S0-32)', { timeout: 60_000 }, async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 80, size: 'max' })
    const window = fc.record({
      limit: fc.integer({ min: 500, max: 5_000 }),
      keepRecent: fc.integer({ min: 0, max: 20 }),
    })
    let truncated = 0
    await fc.assert(
      fc.asyncProperty(sizes, window, async (tokens, window) => {
        const { branch } = await store.create()
        const said = tokens.map((size, i): NewMessage => {
          return { role: i % 2 ? 'assistant' : 'user', content: `${i} `.padEnd(4 * size, '.') }
        })
        const { head } = await store.append(branch, null, said)
        const path = await storedPath(store, head)
        const { fitted, messages, older } = await readContext(store, head, window, { system: 'Be kind.' })
        const whole = fit(path, window, { system: 'Be kind.' })
        expect(fitted.messages).toEqual(whole.messages)
        expect(fitted.tokens).toEqual(whole.tokens)
        expect(messages.length + older).toBe(path.length)
        expect(estimateTokens(path[0]!.content)).toBe(path[0]!.tokens)
        if (older > 0) truncated++
      }),
      { seed: 20_260_402, numRuns: 150 },
    )
    expect(truncated).toBeGreaterThan(50)
  })
})
