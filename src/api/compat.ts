import type { Conversation } from '../core/conversation.ts'
import { type Message, textOf } from '../core/message.ts'
import type { ConversationOverview } from '../core/overview.ts'
import { blockJson } from './block.ts'
import { conversationJson } from './conversation.ts'
import type { IsLive } from './path-facts.ts'
import type { compatConversationSchema, compatMessageSchema, JsonOf } from './schema/index.ts'

/** A conversation of the compatible API as JSON (S2-51). */
export type CompatConversationJson = JsonOf<typeof compatConversationSchema>

/** A message of the compatible API as JSON (S2-11). */
export type CompatMessageJson = JsonOf<typeof compatMessageSchema>

/** Maps a conversation to the body of the compatible API without its messages, which a service streams. */
export function compatConversationJson(
  overview: ConversationOverview,
  isLive: IsLive,
): Omit<CompatConversationJson, 'messages'> {
  const { messages, ...fields } = conversationJson(overview, isLive)
  const { id, task, project, tokensUsed } = overview.conversation
  return {
    session_id: id,
    bead_id: task,
    project_id: project,
    token_count: tokensUsed,
    message_count: messages,
    ...fields,
  }
}

/** Maps a message to the compatible API. */
export function compatMessageJson(message: Message): CompatMessageJson {
  return {
    role: message.role === 'tool_result' ? 'tool' : message.role,
    content: textOf(message),
    timestamp: message.createdAt.toISOString(),
    ...(message.tokens > 0 && { token_count: message.tokens }),
    id: message.id,
    depth: message.depth,
    blocks: message.content.map(blockJson),
  }
}

/** The stored system prompt as the first message (S2-42), or null if there is none. */
export function compatPromptJson({
  prompt,
  createdAt,
}: Pick<Conversation, 'prompt' | 'createdAt'>): CompatMessageJson | null {
  if (prompt === null) return null
  const timestamp = createdAt.toISOString()
  return { role: 'system', content: prompt.text, timestamp, id: null, depth: null, blocks: [] }
}
