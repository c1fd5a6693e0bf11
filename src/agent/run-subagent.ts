import type { ConversationLinks, ParentLink } from '../core/conversation.ts'
import { NotFoundError } from '../core/errors.ts'
import type { ConversationId } from '../core/ids.ts'
import type { ConversationReader, ConversationWriter } from '../core/ports.ts'
import { addUsage, type Usage } from '../core/turn.ts'
import type { Agent } from './agent.ts'
import type { Approve } from './approval/approval.ts'
import type { AgentEvent, Reply } from './run/events.ts'

/** A task for an agent that runs as a subagent. */
export interface SubagentTask {
  /** The name of the agent in the label of the run. */
  readonly name: string
  /** Identifies the run. */
  readonly runId: string
  readonly task: string
  /** Where the run is stored. Null: it is kept in memory. */
  readonly store: (Pick<ConversationReader, 'getConversation'> & Pick<ConversationWriter, 'create'>) | null
  /** The conversation and the message that the task comes from. Null if they are unknown. */
  readonly parent: ParentLink | null
  /** What the run belongs to, unless its parent is known. Default: nothing. */
  readonly links?: Partial<ConversationLinks>
  readonly signal: AbortSignal
  /** Decides about its calls, instead of the agent's own `approve`. */
  readonly approve?: Approve
  /** Called when the conversation of the run exists, before the agent is asked. */
  onConversation?(id: ConversationId): void
  onEvent?(event: AgentEvent, conversationId: ConversationId | null): void
}

/** The end of a run. */
export interface SubagentResult {
  /** The conversation of the run. Null if it is not stored. */
  readonly conversationId: ConversationId | null
  /** Null if the run failed. A stopped run has the status `interrupted`. */
  readonly reply: Reply | null
  /** Why the run failed. Null if it did not. */
  readonly failure: { readonly error: unknown } | null
  readonly usage: Usage
}

/** Gives a task to an agent, in a conversation of its own: of kind `subagent`, labelled
 *  `subagent:<name>:<run id>`, and linked to its parent. The failure of the agent is part of the result;
 *  errors of the store are thrown. */
export async function runSubagent(agent: Pick<Agent, 'send'>, given: SubagentTask): Promise<SubagentResult> {
  const { name, runId, task, store, parent, signal, approve } = given
  const label = `subagent:${name}:${runId}`
  const links = store && parent !== null ? await linksOf(store, parent.conversationId) : given.links
  const place = store
    ? await store.create({ kind: 'subagent', label, ...(parent !== null && { parent }), ...links })
    : null
  const conversationId = place?.conversation.id ?? null
  if (conversationId !== null) given.onConversation?.(conversationId)
  const words = { role: 'user', content: task, label } as const
  const run = agent.send(place?.branch ?? label, words, { signal, ...(approve && { approve }) })
  let usage: Usage = {}
  try {
    for await (const event of run) {
      usage = addUsage(usage, usageIn(event))
      given.onEvent?.(event, conversationId)
    }
    return { conversationId, reply: await run.result(), failure: null, usage }
  } catch (error) {
    return { conversationId, reply: null, failure: { error }, usage }
  }
}

/** Where a run belongs: it is listed with the conversation that started it. Not the task, whose newest
 *  conversation would then be the run. The conversation may be in another store. */
async function linksOf(
  store: Pick<ConversationReader, 'getConversation'>,
  caller: ConversationId,
): Promise<Partial<ConversationLinks>> {
  try {
    const { directory, project } = await store.getConversation(caller)
    return { directory, project }
  } catch (error) {
    if (error instanceof NotFoundError) return {}
    throw error
  }
}

/** The usage in this event, of the subagent or of its own subagents. */
function usageIn(event: AgentEvent): Usage {
  if (event.type === 'subagent') return usageIn(event.event)
  return event.type === 'answered' ? event.usage : {}
}
