import type { ConversationId } from '../../core/ids.ts'
import type { ConversationReader, Lister } from '../../core/ports.ts'
import { type NameScope, needIdOrTitle } from '../target/find-named.ts'

/** The ids of the named conversations, or of all, including the trash. */
export async function conversationIds(
  store: Lister & ConversationReader,
  named: readonly string[],
  context: NameScope,
): Promise<readonly ConversationId[]> {
  const ids = new Set<ConversationId>()
  if (named.length > 0) {
    for (const text of named) ids.add((await needIdOrTitle(text, store, context)).conversation.id)
    return [...ids]
  }
  for (const filter of [{}, { trashed: true }] as const) {
    for (let after: string | undefined, more = true; more; ) {
      const page = await store.listConversations({
        ...filter,
        limit: 1_000,
        ...(after !== undefined && { after }),
      })
      for (const { id } of page.items) ids.add(id)
      // A row that a list cannot read may still be readable record by record.
      for (const { id } of page.skipped) ids.add(id as ConversationId)
      after = page.next ?? undefined
      more = after !== undefined
    }
  }
  return [...ids]
}
