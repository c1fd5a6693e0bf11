import type { RecallStore } from '../../agent/recall/recall-digest.ts'
import { NotFoundError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { Lister } from '../../core/ports.ts'
import type { PlaceMetadata } from './place.ts'

/** Most conversations of a scope: a search names each of them. */
const mostConversations = 1_000

/** The conversations that a search in a place may find, the newest 1,000: those of its server that the given
 *  function lets through, or those of the direct message. */
export async function conversationsInScope(
  store: Pick<Lister, 'listConversations'>,
  scope: string,
  canSee: (channelId: string) => boolean,
): Promise<readonly ConversationId[]> {
  const found: ConversationId[] = []
  let after: string | undefined
  do {
    const page = await store.listConversations({
      channel: 'discord',
      metadata: { discord_scope: scope },
      limit: mostConversations,
      ...(after !== undefined && { after }),
    })
    for (const { id, metadata } of page.items) {
      const channel = (metadata as Partial<PlaceMetadata>).discord_channel ?? null
      if (channel === null || canSee(channel)) found.push(id)
    }
    after = page.next ?? undefined
  } while (after !== undefined && found.length < mostConversations)
  return found.slice(0, mostConversations)
}

/** A store that finds only some conversations, for the tools of an agent: everything that recall reads begins
 *  with `search` or `resolve`. */
export function withinScope<S extends RecallStore>(
  store: S,
  conversations: () => Promise<readonly ConversationId[]>,
): S {
  return {
    ...store,
    search: async (query, options = {}) =>
      store.search(query, { ...options, conversations: await conversations() }),
    async resolve(text) {
      const found = await store.resolve(text)
      if (!(await conversations()).includes(found.conversation.id)) throw new NotFoundError('id', text)
      return found
    },
  }
}
