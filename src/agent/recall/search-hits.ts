import { InvalidError } from '../../core/errors.ts'
import type { Searcher, SearchHit, SearchOptions, SearchPage } from '../../core/listing.ts'

/** The syntax of a query, for the model that writes one. */
export const querySyntax =
  'words (all must occur in one message), "a phrase", pre*, -without, role:user, in:<conversation id>, since:2026-08-14, before:7d'

/** Most pages that one search reads if its hits are refused. `next` continues it. */
const mostPages = 20

/** Searches, and leaves out the hits that `mayShow` refuses. Reads further pages until the limit is reached.
 *  An invalid query throws InvalidError with the syntax. */
export async function searchHits(
  store: Searcher,
  query: string,
  options: SearchOptions & { readonly limit: number },
  mayShow: (hit: SearchHit) => boolean | Promise<boolean> = () => true,
): Promise<Pick<SearchPage, 'items' | 'next' | 'unindexed'>> {
  const items: SearchHit[] = []
  let after = options.after
  for (let pages = 1; ; pages++) {
    const page = await store
      .search(query, {
        ...options,
        limit: options.limit - items.length,
        ...(after !== undefined && { after }),
      })
      .catch(explainQuery)
    let refused = 0
    for (const hit of page.items) {
      if (await mayShow(hit)) items.push(hit)
      else refused++
    }
    const { next, unindexed } = page
    if (next === null || refused === 0 || items.length >= options.limit || pages === mostPages)
      return { items, next, unindexed }
    after = next
  }
}

function explainQuery(error: unknown): never {
  if (!(error instanceof InvalidError) || error.field !== 'query') throw error
  throw new InvalidError('query', `${error.message.replace(/^query: /, '')}. It may have ${querySyntax}`)
}
