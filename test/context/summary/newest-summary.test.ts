import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newestSummary } from '../../../src/context/summary/newest-summary.ts'
import { readUncovered } from '../../../src/context/summary/read-uncovered.ts'
import type { Holder } from '../../../src/core/errors.ts'
import type { ConversationId, MessageId } from '../../../src/core/ids.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { pathOf } from '../../../src/core/path.ts'
import type { SaveItem, Store } from '../../../src/core/ports.ts'
import { openStore } from '../../../src/stores/open.ts'

const holder: Holder = { host: 'h', boot: 'b', pid: 1, startedAt: 1 }

let store: Store
beforeAll(async () => {
  store = await openStore(':memory:')
})
afterAll(() => store.close())

/** Grows a tree: the parent of each message is `back` messages before it, or it is a root. */
async function grow(
  backs: readonly (number | null)[],
): Promise<{ id: ConversationId; ids: readonly MessageId[] }> {
  const { conversation } = await store.create()
  const items = backs.map((back, i): SaveItem => {
    const message = { role: i % 2 === 0 ? 'user' : 'assistant', content: `m${i}` } as const
    return { message, parent: back === null || i === 0 ? null : { item: Math.max(0, i - 1 - back) } }
  })
  return {
    id: conversation.id,
    ids: await store.save(conversation.id, items),
  }
}

async function summarise(id: ConversationId, first: MessageId, last: MessageId): Promise<void> {
  const { claimed } = await store.claimSummary(id, { first, last }, holder)
  if (claimed) await store.putSummary(id, { first, last, text: `to ${last}`, tokens: 1, holder })
}

it('newestSummary finds the deepest summary from the root of the path, in any tree', {
  timeout: 60_000,
}, async () => {
  // Mostly a chain, so that paths are long; sometimes a fork, rarely a root.
  const back = fc.oneof(
    { weight: 8, arbitrary: fc.constant(0) },
    { weight: 3, arbitrary: fc.nat(12) },
    { weight: 1, arbitrary: fc.constant(null) },
  )
  const sizes = fc.record({ summaries: fc.nat(12), window: fc.integer({ min: 1, max: 8 }) })
  const numbers = fc.infiniteStream(fc.nat(1_000_000))
  const seen = { found: 0, within: 0, none: 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.array(back, { minLength: 2, maxLength: 60, size: 'max' }),
      sizes,
      numbers,
      async (backs, size, random) => {
        const next = (below: number) => random.next().value! % below
        const { id, ids } = await grow(backs)
        for (let i = 0; i < size.summaries; i++) {
          const path = await pathOf(store, ids[next(ids.length)]!)
          // Most begin at the root, like our own.
          const first = next(4) === 0 ? next(path.length) : 0
          await summarise(id, path[first]!.id, path.at(-1)!.id)
        }
        const head = ids[next(ids.length)]!
        const path = await pathOf(store, head)
        const ends = new Map(
          (await collectPages(page => store.listSummaries(id, page)))
            .filter(s => s.first === path[0]!.id)
            .map(s => [s.last, s]),
        )
        const expected = path.findLast(message => ends.has(message.id))
        const tail = (await store.tail(head, { messages: size.window })).messages

        const found = await newestSummary(store, tail)
        expect(found?.summary.last).toBe(expected?.id)
        if (found)
          expect(found).toMatchObject({ messages: expected!.depth + 1, tokens: expected!.pathTokens })
        const uncovered = await readUncovered(store, id, head)
        expect(uncovered.previous?.last).toBe(expected?.id)
        expect(uncovered.messages.map(m => m.id)).toEqual(
          path.slice((expected?.depth ?? -1) + 1).map(m => m.id),
        )
        if (!expected) seen.none++
        else if (tail.some(message => message.id === expected.id)) seen.within++
        else seen.found++
      },
    ),
    { seed: 20_260_118, numRuns: 250 },
  )
  // Otherwise the test proves nothing.
  expect(Math.min(seen.found, seen.within, seen.none)).toBeGreaterThan(10)
})
