import type { ConversationId } from '../../core/ids.ts'
import type { ConversationReader } from '../../core/ports.ts'

/** The keys of places in a Discord server. Every other conversation of the channel counts as a direct
 *  message: one whose place is unknown must not be shown. */
const publicPlaces = /^discord:(?:channel|thread):/

/** Whether a conversation is, or was, a talk with one person. */
export async function isDirectMessage(
  store: Pick<ConversationReader, 'listBranches'>,
  { id, channel }: { readonly id: ConversationId; readonly channel: string | null },
): Promise<boolean> {
  if (channel !== 'discord') return false
  return !(await keysOf(store, id)).some(key => publicPlaces.test(key))
}

/** The keys that branches of a conversation have or had. */
export async function keysOf(
  store: Pick<ConversationReader, 'listBranches'>,
  id: ConversationId,
): Promise<readonly string[]> {
  const { items } = await store.listBranches(id, { limit: 100 })
  return items.flatMap(({ key, formerKey }) => [key, formerKey].filter(one => one !== null))
}
