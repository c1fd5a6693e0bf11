import { type ConversationId, type MessageId, messageId } from '../../core/ids.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { MessageReader } from '../../core/ports.ts'
import { isObject } from '../wire/is-object.ts'

/** Up to which message an agent was told a conversation in the system prompt of a session, or null. What stands in a
 *  system prompt is in no replay, and has to be sent again whenever the session is resumed or loaded: the protocol lets an
 *  agent drop it. The trace of how the session began says so. */
export async function toldInSystem(
  store: Pick<MessageReader, 'listEvents'>,
  id: ConversationId,
  sessionId: string,
): Promise<MessageId | null> {
  const traces = await store.listEvents(id, { types: ['resume'], order: 'descending', limit: 200 })
  const told = traces.items.find(({ data }) => data.session === sessionId && data.through === 'system')
  return typeof told?.data.upTo === 'string' ? messageId(told.data.upTo) : null
}

/** The `systemPrompt` of a session, with this text after what the client wants to stand there. */
export function withSystemText(wanted: Json | undefined, text: string): JsonObject {
  const block = { type: 'text', text }
  if (!isObject(wanted) || !Array.isArray(wanted.content)) return { mode: 'append', content: [block] }
  return { ...wanted, content: [...wanted.content, block] }
}
