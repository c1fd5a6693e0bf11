import { gistOf } from '../core/gist.ts'
import type { ConversationOverview } from '../core/overview.ts'
import { conversationCost } from './cost.ts'
import type { IsLive } from './path-facts.ts'
import type { conversationSchema, JsonOf } from './schema/index.ts'

/** A conversation in a list as JSON. */
export type ConversationJson = JsonOf<typeof conversationSchema>

/** Maps what a list shows of a conversation to JSON. */
export function conversationJson(overview: ConversationOverview, isLive: IsLive): ConversationJson {
  const { conversation: one, first, last } = overview
  return {
    id: one.id,
    key: one.branch.key,
    title: one.title,
    directory: one.directory,
    channel: one.channel,
    agent: overview.agent ?? one.owner,
    model: one.model,
    labels: [...(one.label === null ? [] : [one.label]), ...one.tags],
    active_branch: one.activeBranch,
    path_messages: overview.pathMessages,
    messages: one.messages,
    branches: overview.branches,
    tokens: one.tokens,
    cost_usd: conversationCost(one),
    created_at: one.createdAt.toISOString(),
    updated_at: one.updatedAt.toISOString(),
    expires_at: one.expiresAt?.toISOString() ?? null,
    live: overview.openTurns.some(isLive),
    first: first && { id: first.id, text: gistOf(first) },
    last: last && { id: last.id, role: last.role, text: gistOf(last) },
    kind: one.kind,
    project: one.project,
    task: one.task,
    parent: one.parent?.conversationId ?? null,
    tokens_used: one.tokensUsed,
    trashed_at: one.trashedAt?.toISOString() ?? null,
    label: one.label,
    tags: one.tags,
    metadata: one.metadata,
    prompt: one.prompt,
    prompt_policy: one.promptPolicy,
    tool_results: typeof one.toolResults === 'string' ? one.toolResults : one.toolResults.truncate,
    owner: one.owner,
    version: one.version,
    ttl_ms: one.ttlMs,
  }
}
