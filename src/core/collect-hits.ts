import { plural } from './amount.ts'
import type { Searcher, SearchHit, SearchOptions, SearchPage, SkippedRow } from './listing.ts'

/** Searches until there are enough hits: a page may end early, at its budget. */
export async function collectHits(
  store: Searcher,
  query: string,
  options: SearchOptions & { readonly limit: number },
): Promise<SearchPage> {
  const items: SearchHit[] = []
  const skipped: SkippedRow[] = []
  for (let after = options.after; ; ) {
    const page: SearchPage = await store.search(query, {
      ...options,
      limit: options.limit - items.length,
      ...(after !== undefined && { after }),
    })
    items.push(...page.items)
    skipped.push(...page.skipped)
    if (page.next === null || items.length >= options.limit) return { ...page, items, skipped }
    after = page.next
  }
}

/** Says that messages were not searched, because they are not in the index or not saved. Null if all were. */
export function notSearchedNote(unindexed: number, unsaved = 0): string | null {
  const missing = [
    [unindexed, 'in the search index'],
    [unsaved, 'saved'],
  ] as const
  const sentences = missing
    .filter(([count]) => count > 0)
    .map(([count, where]) => `${plural(count, 'message is', 'messages are')} not ${where} yet`)
  return sentences.length === 0 ? null : `${sentences.join(', ')}: search again later.`
}
