import { errorText } from '../../core/error-text.ts'
import type { TurnReport } from '../../recorder/recording.ts'
import type { MemoryReport } from '../memory/memory-report.ts'
import type { RunningAgent } from '../process/agent-process-slot.ts'
import type { PromptEnd } from '../seat/seat-prompt.ts'
import { promptEndOf } from '../seat/seat-prompt.ts'
import { listAlsoIn } from '../sessions/session-list.ts'
import { afterSetting } from '../sessions/shown-settings.ts'
import { messageFromPrompt } from '../transcript/message-from-prompt.ts'
import { ConnectionEnded, RpcError } from '../wire/rpc-error.ts'
import { withFirstElements } from '../wire/splice.ts'
import type { WireLine } from '../wire/wire-line.ts'
import type { ProxyContext } from './proxy-context.ts'
import type { OpenPrompt, ProxySession } from './proxy-sessions.ts'
import { errorLine, resultLine, rpcFailure, withSessionId } from './reply-lines.ts'

/** Handles a prompt of the client: stores it, relays the client's line with the injected text, and stores the
 *  answer. */
export async function relayPrompt(
  context: ProxyContext,
  session: ProxySession,
  line: WireLine,
): Promise<void> {
  const id = line.message!.id!
  const params = line.message!.params!
  const under: OpenPrompt = { abort: new AbortController(), giveUp: null }
  session.prompts.add(under)
  // The agent's answer. It is relayed only after the turn is stored, so that the client can rely on it.
  let answer: Buffer | null = null
  let isSent = false
  let lost: unknown = null
  const words = [messageFromPrompt(Array.isArray(params.prompt) ? params.prompt : [])]
  const { signal } = under.abort
  const answerClient = (error: unknown) => {
    const isOver = signal.aborted || error instanceof ConnectionEnded
    context.toClient(answer ?? (isOver ? resultLine(id, cancelled) : errorLine(id, rpcFailure(error))))
  }
  const send = (agent: RunningAgent, sessionId: string, injected: string | null) =>
    sendOn(context, session, line, {
      agent,
      sessionId,
      injected,
      prompt: under,
      onSent() {
        isSent = true
      },
      onAnswer(bytes) {
        answer = bytes
      },
    })

  try {
    const { report, error } = await session.seat.prompt({
      words,
      signal,
      send,
      onMemory: report => {
        if (report.outcome !== 'fresh') context.log(`${session.id}: ${memoryText(report)}`)
      },
      onTrouble({ kind, error: trouble }) {
        // A dropped draft is not a loss if its message is stored.
        if (kind === 'lost') lost = trouble
        else context.log(`storage: ${kind}: ${String(trouble)}`)
      },
    })
    const list = () =>
      listAlsoIn(context.store, report.branch.conversationId, session.directory).catch(() => undefined)
    // The client may list its sessions next. It does not wait for a store that cannot be written.
    if (report.saved) await list()
    answerClient(error)
    if (!report.saved) await list()
    const logLoss = ({ saved }: Pick<TurnReport, 'saved'>) => {
      if (lost !== null && !saved) context.log(`storage: lost: ${String(lost)}`)
    }
    if (report.whenSaved) void report.whenSaved.then(logLoss)
    else logLoss(report)
  } catch (error) {
    if (isSent || signal.aborted || session.seat.sessionId === null) {
      context.log(`not recorded: ${errorText(error)}`)
      answerClient(error)
      return
    }
    // A prompt that cannot be stored now is relayed anyway, and stored later.
    context.storeIsAway(error)
    const unstored = session.seat.promptUnstored({ words, signal, send })
    await unstored.then(({ error }) => answerClient(error), answerClient)
  } finally {
    session.prompts.delete(under)
  }
}

const cancelled = { stopReason: 'cancelled' }

interface RelayedPrompt {
  readonly agent: RunningAgent
  readonly sessionId: string
  readonly injected: string | null
  readonly prompt: OpenPrompt
  onSent(): void
  onAnswer(bytes: Buffer): void
}

async function sendOn(
  { toAgent, replies }: ProxyContext,
  session: ProxySession,
  line: WireLine,
  { agent, sessionId, injected, prompt, onSent, onAnswer }: RelayedPrompt,
): Promise<PromptEnd> {
  await repeatSettings(session, agent, sessionId)
  prompt.abort.signal.throwIfAborted()
  const id = line.message!.id!
  const mapped = withSessionId(line, sessionId)
  const block = injected === null ? [] : [JSON.stringify({ type: 'text', text: injected })]
  return new Promise<PromptEnd>((resolve, reject) => {
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
    prompt.giveUp = () => {
      // A late answer is not relayed: the client has one.
      replies.expect(id, { onAnswer: () => {}, onDeath: () => {} })
      reject(new ConnectionEnded('the agent did not end a cancelled turn'))
    }
  }).finally(() => {
    prompt.giveUp = null
  })
}

/** Sets modes, models and options again in a new session of the agent. */
async function repeatSettings(session: ProxySession, agent: RunningAgent, sessionId: string): Promise<void> {
  if (session.setIn === sessionId) return
  for (const { method, params } of [...session.settings.values()]) {
    try {
      const result = await agent.request(method, { ...params, sessionId })
      session.shown = afterSetting(session.shown, method, params, result)
    } catch {
      // The agent may not know that mode any more: then it keeps its own.
    }
  }
  // Until now, the agent's updates were about its defaults.
  session.setIn = sessionId
}

function memoryText({ outcome, injected, untold, transcript }: MemoryReport): string {
  if (injected === 0) return outcome
  const left = untold > 0 ? `, ${untold} left out` : ''
  const file = transcript === null ? '' : `; all of them are in ${transcript}`
  return `${outcome}, ${injected} messages told${left}${file}`
}
