import { errorText } from '../../core/error-text.ts'
import type { RunningAgent } from '../process/agent-process-slot.ts'
import type { PromptEnd } from '../seat/seat-prompt.ts'
import { promptEndOf } from '../seat/seat-prompt.ts'
import { messageFromPrompt } from '../transcript/message-from-prompt.ts'
import { ConnectionEnded, RpcError } from '../wire/rpc-error.ts'
import { withFirstElements } from '../wire/splice.ts'
import type { WireLine } from '../wire/wire-line.ts'
import type { ProxyContext } from './proxy-context.ts'
import type { ProxySession } from './proxy-sessions.ts'
import { errorLine, resultLine, rpcFailure, withSessionId } from './reply-lines.ts'

/** Takes a prompt of the client's: its words are kept, the agent is told what it lacks, and the client's own
 *  line goes on. */
export async function relayPrompt(
  context: ProxyContext,
  session: ProxySession,
  line: WireLine,
): Promise<void> {
  const id = line.message!.id!
  const params = line.message!.params!
  const under = { abort: new AbortController(), sent: false }
  session.prompts.add(under)
  // The agent's own answer. It waits until the turn is on the disk: whoever sees it may rely on that.
  let answer: Buffer | null = null
  const send = (agent: RunningAgent, sessionId: string, telling: string | null) =>
    sendOn(context, session, line, {
      agent,
      sessionId,
      telling,
      onSent() {
        under.sent = true
      },
      onAnswer(bytes) {
        answer = bytes
      },
    })

  try {
    const { error } = await session.seat.prompt({
      words: [messageFromPrompt(Array.isArray(params.prompt) ? params.prompt : [])],
      signal: under.abort.signal,
      send,
      onMemory: report => {
        if (report.outcome !== 'fresh')
          context.log(`${session.id}: ${memoryText(report.outcome, report.injected)}`)
      },
      onTrouble: ({ kind, error: trouble }) => context.log(`storage: ${kind}: ${String(trouble)}`),
    })
    const isOver = under.abort.signal.aborted || error instanceof ConnectionEnded
    context.toClient(answer ?? (isOver ? resultLine(id, cancelled) : errorLine(id, rpcFailure(error))))
  } catch (error) {
    // The words cannot be kept. That is no reason not to say them.
    context.log(`not recorded: ${errorText(error)}`)
    const { sessionId } = session.seat
    if (sessionId === null) context.toClient(errorLine(id, rpcFailure(error)))
    else context.toAgent(withSessionId(line, sessionId))
  } finally {
    session.prompts.delete(under)
  }
}

const cancelled = { stopReason: 'cancelled' }

interface Sending {
  readonly agent: RunningAgent
  readonly sessionId: string
  readonly telling: string | null
  onSent(): void
  onAnswer(bytes: Buffer): void
}

async function sendOn(
  { toAgent, replies }: ProxyContext,
  session: ProxySession,
  line: WireLine,
  { agent, sessionId, telling, onSent, onAnswer }: Sending,
): Promise<PromptEnd> {
  await setAgain(session, agent, sessionId)
  const id = line.message!.id!
  const mapped = withSessionId(line, sessionId)
  const block = telling === null ? [] : [JSON.stringify({ type: 'text', text: telling })]
  return new Promise((resolve, reject) => {
    replies.expect(id, {
      onAnswer(reply) {
        onAnswer(reply.bytes)
        const { result, error } = reply.message!
        if (error) reject(new RpcError(error))
        else resolve(promptEndOf(result))
      },
      onDeath: () => reject(new ConnectionEnded('the agent died in the middle of its answer')),
    })
    toAgent(withFirstElements(mapped, ['params', 'prompt'], block))
    onSent()
  })
}

/** A new session of the agent's knows nothing of the mode and the options that the client has chosen. */
async function setAgain(session: ProxySession, agent: RunningAgent, sessionId: string): Promise<void> {
  if (session.setIn === sessionId) return
  session.setIn = sessionId
  for (const { method, params } of session.settings.values()) {
    try {
      await agent.request(method, { ...params, sessionId })
    } catch {
      // It may not know that mode any more: then it keeps its own.
    }
  }
}

function memoryText(outcome: string, injected: number): string {
  return injected > 0 ? `${outcome}, ${injected} messages told` : outcome
}
