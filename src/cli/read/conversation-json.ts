import type { ConversationReader, Lister } from '../../core/ports.ts'
import { conversationCost } from '../output/cost.ts'
import { gistOf } from '../output/gist.ts'
import type { ConversationFacts } from './conversation-facts.ts'

/** A conversation as `--json` prints it: snake_case, full ids, ISO times, null for absent values. Fields are
 *  only added, never removed. */
export async function conversationJson(store: ConversationReader & Lister, facts: ConversationFacts) {
  const { conversation: one, last } = facts
  const first = await store.listMessages({
    conversationId: one.id,
    order: 'ascending',
    roles: ['user'],
    limit: 1,
    blobs: 'preview',
  })
  const [link] = (await store.listAgentLinks(one.branch, { limit: 1 })).items
  const [prompt] = first.items
  return {
    id: one.id,
    key: one.branch.key,
    title: one.title,
    directory: one.directory,
    channel: one.channel,
    agent: link?.agent ?? one.owner,
    model: one.model,
    labels: [...(one.label === null ? [] : [one.label]), ...one.tags],
    active_branch: one.activeBranch,
    path_messages: facts.pathMessages,
    messages: one.messages,
    branches: facts.branches,
    tokens: one.tokens,
    cost_usd: conversationCost(one),
    created_at: one.createdAt.toISOString(),
    updated_at: one.updatedAt.toISOString(),
    expires_at: one.expiresAt?.toISOString() ?? null,
    live: facts.isLive,
    first: prompt ? { id: prompt.id, text: gistOf(prompt) } : null,
    last: last ? { id: last.id, role: last.role, text: gistOf(last) } : null,
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
  }
}
