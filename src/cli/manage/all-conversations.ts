import type { ConversationFilter, ListedConversation, SkippedRow } from '../../core/listing.ts'
import type { Lister } from '../../core/ports.ts'

export interface AllConversations {
  readonly items: readonly ListedConversation[]
  readonly skipped: readonly SkippedRow[]
}

/** The conversations that pass the filter, newest first, one page at a time. */
export async function* eachConversation(
  store: Pick<Lister, 'listConversations'>,
  filter: ConversationFilter = {},
  limit = 50,
): AsyncGenerator<ListedConversation> {
  for (let after: string | undefined, more = true; more; ) {
    const page = await store.listConversations({
      ...filter,
      limit,
      ...(after !== undefined && { after }),
    })
    yield* page.items
    after = page.next ?? undefined
    more = after !== undefined
  }
}

/** All conversations that pass the filter, newest first. Reads all pages. */
export async function allConversations(
  store: Pick<Lister, 'listConversations'>,
  filter: ConversationFilter = {},
): Promise<AllConversations> {
  const items: ListedConversation[] = []
  const skipped: SkippedRow[] = []
  for (let after: string | undefined, more = true; more; ) {
    const page = await store.listConversations({
      ...filter,
      limit: 1_000,
      ...(after !== undefined && { after }),
    })
    items.push(...page.items)
    skipped.push(...page.skipped)
    after = page.next ?? undefined
    more = after !== undefined
  }
  return { items, skipped }
}
