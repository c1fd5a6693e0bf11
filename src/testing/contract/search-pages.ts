import { strict as assert } from 'node:assert'
import type { MessageId } from '../../core/ids.ts'
import type { SearchOptions } from '../../core/listing.ts'
import type { Store } from '../../core/ports.ts'

/** A search must not end early on a machine that stalls. */
export const budgetMs = 600_000

/** The ids of the first 200 hits. */
export async function hits(store: Store, query: string, options: SearchOptions = {}): Promise<MessageId[]> {
  return (await store.search(query, { limit: 200, budgetMs, ...options })).items.map(hit => hit.message.id)
}

/** Reads all pages of a search and asserts that each one except the last is full. */
export async function pages(store: Store, query: string, options: SearchOptions & { limit: number }) {
  const all: MessageId[] = []
  for (let after: string | null = null; ; ) {
    const page = await store.search(query, {
      budgetMs,
      ...options,
      ...(after !== null && { after }),
    })
    assert.ok(after === null || page.items.length > 0, 'a next page is never empty')
    all.push(...page.items.map(hit => hit.message.id))
    assert.deepEqual(page.skipped, [])
    if (page.next === null) return all
    assert.equal(page.items.length, options.limit)
    after = page.next
  }
}
