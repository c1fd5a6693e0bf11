import { type ConversationJson, conversationJson } from '../../api/conversation.ts'
import type { ConversationReader, Lister } from '../../core/ports.ts'
import type { ConversationFacts } from './conversation-facts.ts'

/** Reads the rest of what `--json` prints of a conversation. */
export async function readConversationJson(
  store: ConversationReader & Lister,
  facts: ConversationFacts,
): Promise<ConversationJson> {
  const { conversation } = facts
  const { items } = await store.listMessages({
    conversationId: conversation.id,
    order: 'ascending',
    roles: ['user'],
    limit: 1,
    blobs: 'preview',
  })
  const [link] = (await store.listAgentLinks(conversation.branch, { limit: 1 })).items
  const overview = { ...facts, first: items[0] ?? null, agent: link?.agent ?? null, openTurns: [] }
  return { ...conversationJson(overview, () => false), live: facts.isLive }
}
