import type {
  PromptResponse,
  SessionUpdate,
  StopReason,
  Usage as UsageUpdate,
} from '@agentclientprotocol/sdk/unstable'
import type { Agent } from '../../agent/agent.ts'
import type { AgentEvent, Reply } from '../../agent/run/events.ts'
import type { BranchRef } from '../../core/branch.ts'
import type { NewMessage } from '../../core/message.ts'
import type { ConversationReader } from '../../core/ports.ts'
import type { Usage } from '../../core/turn.ts'
import type { RunUpdates } from './run-updates.ts'

export interface PromptContext {
  readonly agent: Agent
  readonly branch: BranchRef
  readonly words: NewMessage
  readonly signal: AbortSignal
  readonly updates: RunUpdates
  readonly store: Pick<ConversationReader, 'getConversation'>
  /** Resolves when the update is on its way. A slow client delays only its own updates. */
  notify(update: SessionUpdate): Promise<void>
  /** Called with each event after the client was sent its updates. */
  onShown(event: AgentEvent): void
  log(line: string): void
}

/** Runs the agent, sends its events to the client as updates, and returns the answer when all updates were
 *  sent. A cancelled prompt has an answer, too. Throws errors of the model and the store. */
export async function answerPrompt(context: PromptContext): Promise<PromptResponse> {
  const { agent, branch, words, signal, updates, notify } = context
  try {
    const run = agent.send(branch, words, { signal })
    for await (const event of run) {
      for (const update of updates.of(event)) await notify(update)
      context.onShown(event)
    }
    const reply = await run.result()
    await notifyEnd(context, reply)
    return promptResponse(reply)
  } catch (error) {
    for (const update of updates.left()) await notify(update).catch(() => undefined)
    if (signal.aborted) return { stopReason: 'cancelled' }
    throw error
  }
}

/** Updates after each prompt: the title, and the total cost. */
async function notifyEnd(
  { updates, branch, store, notify, log }: PromptContext,
  reply: Reply,
): Promise<void> {
  for (const update of updates.left()) await notify(update)
  if (!reply.saved) log('the store cannot be written: not everything that was said is kept')
  const { title, updatedAt, cost } = await store.getConversation(branch.conversationId)
  await notify({ sessionUpdate: 'session_info_update', title, updatedAt: updatedAt.toISOString() })
  if (reply.usage.cost !== undefined && updates.usage)
    await notify({ ...updates.usage, cost: { amount: cost, currency: 'USD' } })
}

/** Why a turn ended, in the protocol's terms. `filtered` and `refused` are not a `refusal`: that would mean
 *  that the prompt is not part of the conversation, and it is. */
const stopReasons: Readonly<Record<Reply['stop'], StopReason>> = {
  stop: 'end_turn',
  tool_calls: 'end_turn',
  other: 'end_turn',
  filtered: 'end_turn',
  refused: 'end_turn',
  length: 'max_tokens',
  steps: 'max_turn_requests',
  approval: 'end_turn',
  aborted: 'cancelled',
}

/** The answer to a prompt. */
function promptResponse({ stop, usage }: Reply): PromptResponse {
  const shown = usageShown(usage)
  return { stopReason: stopReasons[stop], ...(shown ? { usage: shown } : {}) }
}

function usageShown({ input, output, reasoning, cacheRead, cacheWrite }: Usage): UsageUpdate | null {
  if (input === undefined && output === undefined) return null
  return {
    inputTokens: input ?? 0,
    outputTokens: output ?? 0,
    totalTokens: (input ?? 0) + (output ?? 0),
    ...(reasoning === undefined ? {} : { thoughtTokens: reasoning }),
    ...(cacheRead === undefined ? {} : { cachedReadTokens: cacheRead }),
    ...(cacheWrite === undefined ? {} : { cachedWriteTokens: cacheWrite }),
  }
}
