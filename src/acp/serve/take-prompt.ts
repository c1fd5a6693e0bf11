import type { PromptResponse, SessionUpdate } from '@agentclientprotocol/sdk/unstable'
import type { Agent } from '../../agent/agent.ts'
import type { AgentEvent, Reply } from '../../agent/run/events.ts'
import type { BranchRef } from '../../core/branch.ts'
import type { NewMessage } from '../../core/message.ts'
import type { ConversationReader } from '../../core/ports.ts'
import { answerOf } from './answer.ts'
import type { RunUpdates } from './run-updates.ts'

export interface Taking {
  readonly agent: Agent
  readonly branch: BranchRef
  readonly words: NewMessage
  readonly signal: AbortSignal
  readonly updates: RunUpdates
  readonly store: Pick<ConversationReader, 'getConversation'>
  /** Resolves when the update is on its way: a slow client slows down what it is shown, and nothing else. */
  tell(update: SessionUpdate): Promise<void>
  /** Told of each event when the client has been shown it. */
  onShown(event: AgentEvent): void
  log(line: string): void
}

/** Has the agent answer, shows the client what happens, and gives the answer to the prompt when all of it has been shown. One
 *  that was stopped is an answer as well. Throws what the model or the store throws. */
export async function takePrompt(taking: Taking): Promise<PromptResponse> {
  const { agent, branch, words, signal, updates, tell } = taking
  try {
    const run = agent.send(branch, words, { signal })
    for await (const event of run) {
      for (const update of updates.of(event)) await tell(update)
      taking.onShown(event)
    }
    const reply = await run.result()
    await tellEnd(taking, reply)
    return answerOf(reply)
  } catch (error) {
    for (const update of updates.left()) await tell(update).catch(() => undefined)
    if (signal.aborted) return { stopReason: 'cancelled' }
    throw error
  }
}

/** What a client wants to know between two prompts: the title, and what all of it has cost. */
async function tellEnd({ updates, branch, store, tell, log }: Taking, reply: Reply): Promise<void> {
  for (const update of updates.left()) await tell(update)
  if (!reply.saved) log('the store cannot be written: not everything that was said is kept')
  const { title, updatedAt, cost } = await store.getConversation(branch.conversationId)
  await tell({ sessionUpdate: 'session_info_update', title, updatedAt: updatedAt.toISOString() })
  if (reply.usage.cost !== undefined && updates.usage)
    await tell({ ...updates.usage, cost: { amount: cost, currency: 'USD' } })
}
