import type { Page, PageOptions } from './listing.ts'

/** Items per page where all pages are read. */
const pageSize = 1_000

/** The pages of a list, one after the other. */
async function* pagesOf<T>(
  list: (page: PageOptions) => Promise<Page<T>>,
): AsyncGenerator<readonly T[], void> {
  for (let after: string | undefined; ; ) {
    const page = await list({ limit: pageSize, ...(after !== undefined && { after }) })
    yield page.items
    if (page.next === null) return
    after = page.next
  }
}

/** Every item of a paged list, read page by page: `itemsOf(page => store.listTurns(id, page))`. */
export async function* itemsOf<T>(list: (page: PageOptions) => Promise<Page<T>>): AsyncGenerator<T, void> {
  for await (const items of pagesOf(list)) yield* items
}

/** All items of a paged list in one array. Only for lists that are short, or that are needed as a whole.
 *
 * @example
 * ```ts
 * import { collectPages, openStore } from 'skein'
 *
 * await using store = await openStore(':memory:')
 * const { conversation, branch } = await store.create()
 * await store.createBranch(conversation.id, branch.head, { name: 'another-try' })
 * const branches = await collectPages(page => store.listBranches(conversation.id, page))
 * console.log(branches.map(({ name }) => name)) // [ 'main', 'another-try' ]
 * ```
 */
export async function collectPages<T>(list: (page: PageOptions) => Promise<Page<T>>): Promise<readonly T[]> {
  const items: T[] = []
  // Not through `itemsOf`, which waits for a promise at each item: a tenth of the time of 500 messages.
  for await (const page of pagesOf(list)) items.push(...page)
  return items
}
