import type {
  ConversationPatch,
  NewConversation,
  PromptPolicy,
  ToolResultPolicy,
} from '../core/conversation.ts'
import { conversationId, messageId } from '../core/ids.ts'
import type { ConversationPatchBody, NewConversationBody } from './schema/request/index.ts'

/** The conversation that a body describes. Throws InvalidError for a malformed id. */
export function newConversationOf(body: NewConversationBody): NewConversation {
  const { id, key, kind, parent, parent_message, created_at, ...rest } = body
  const set: Record<string, unknown> = {}
  // A new conversation has no value to clear: null means that the field is absent.
  for (const [name, value] of Object.entries(conversationPatchOf(rest))) if (value !== null) set[name] = value
  return {
    ...(set as NewConversation),
    ...(id !== undefined && { id: conversationId(id, 'id') }),
    ...(key != null && { key }),
    ...(kind !== undefined && { kind }),
    ...(parent != null && {
      parent: {
        conversationId: conversationId(parent, 'parent'),
        messageId: parent_message == null ? null : messageId(parent_message, 'parent_message'),
      },
    }),
    ...(created_at !== undefined && { createdAt: new Date(created_at) }),
  }
}

/** The change that a body describes: an absent field keeps its value, null clears it. */
export function conversationPatchOf(body: ConversationPatchBody): ConversationPatch {
  const { prompt_policy, tool_results, expires_at, ttl_ms, ...same } = body
  const patch: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(same)) if (value !== undefined) patch[name] = value
  return {
    ...(patch as ConversationPatch),
    ...(prompt_policy !== undefined && { promptPolicy: prompt_policy satisfies PromptPolicy }),
    ...(tool_results !== undefined && { toolResults: toolResultPolicyOf(tool_results) }),
    ...(expires_at !== undefined && { expiresAt: expires_at === null ? null : new Date(expires_at) }),
    ...(ttl_ms !== undefined && { ttlMs: ttl_ms }),
  }
}

function toolResultPolicyOf(value: 'full' | 'metadata' | number): ToolResultPolicy {
  return typeof value === 'number' ? { truncate: value } : value
}
