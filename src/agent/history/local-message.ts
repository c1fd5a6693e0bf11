import { asBlocks } from '../../core/block.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Message, NewMessage, Role } from '../../core/message.ts'
import { estimateTokens } from '../../core/tokens.ts'

const roles: Record<NewMessage['role'], Role> = {
  user: 'user',
  assistant: 'assistant',
  system: 'system',
  tool_result: 'tool_result',
  tool: 'tool_result',
  developer: 'system',
}

/** A message in the form that a store returns, for a context that is made before, or without, storing it.
 *  `id` is the stored id; without one, the message gets a local id that no store knows. */
export function localMessage(
  message: NewMessage,
  before: Message | undefined,
  id: MessageId | null,
): Message {
  const content = asBlocks(message.content)
  const seq = before ? before.seq + 1 : 0
  const tokens = message.tokens ?? estimateTokens(content)
  return {
    id: id ?? (`local-${seq}` as MessageId),
    conversationId: before?.conversationId ?? ('local' as ConversationId),
    parentId: before?.id ?? null,
    seq,
    depth: before ? before.depth + 1 : 0,
    role: roles[message.role],
    content,
    plain: typeof message.content === 'string',
    metadata: (message.metadata as JsonObject | undefined) ?? null,
    createdAt: message.createdAt ?? new Date(),
    tokens,
    pathTokens: (before?.pathTokens ?? 0) + tokens,
    turn: null,
    step: null,
    label: message.label ?? null,
    erased: null,
    blobs: [],
  }
}
