import { errorText } from '../error-text.ts'
import { promptEndOf } from '../seat/prompt-end.ts'
import type { PromptEnd } from '../seat/prompting.ts'
import type { SeatAgent } from '../seat/seat-agent.ts'
import { wordsOf } from '../transcript/prompt-words.ts'
import { ConnectionEnded } from '../wire/connection-ended.ts'
import type { Line } from '../wire/line.ts'
import { RpcError } from '../wire/rpc-error.ts'
import { withFirstElements } from '../wire/splice.ts'
import type { Entry } from './entry.ts'
import { withSessionId } from './map-id.ts'
import type { Proxying } from './proxying.ts'
import { errorLine, failureOf, resultLine } from './reply.ts'

/** Takes a prompt of the client's: its words are kept, the agent is told what it lacks, and the client's own line goes on. */
export async function takePrompt(proxying: Proxying, entry: Entry, line: Line): Promise<void> {
  const id = line.message!.id!
  const params = line.message!.params!
  const under = { abort: new AbortController(), sent: false }
  entry.prompts.add(under)
  // The agent's own answer. It waits until the turn is on the disk: whoever sees it may rely on that.
  let answer: Buffer | null = null
  const send = (agent: SeatAgent, sessionId: string, telling: string | null) =>
    sendOn(proxying, entry, line, {
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
    const { error } = await entry.seat.prompt({
      words: [wordsOf(Array.isArray(params.prompt) ? params.prompt : [])],
      signal: under.abort.signal,
      send,
      onMemory: report => {
        if (report.outcome !== 'fresh')
          proxying.log(`${entry.id}: ${memoryText(report.outcome, report.injected)}`)
      },
      onTrouble: ({ kind, error: trouble }) => proxying.log(`storage: ${kind}: ${String(trouble)}`),
    })
    const isOver = under.abort.signal.aborted || error instanceof ConnectionEnded
    proxying.tell(answer ?? (isOver ? resultLine(id, cancelled) : errorLine(id, failureOf(error))))
  } catch (error) {
    // The words cannot be kept. That is no reason not to say them.
    proxying.log(`not recorded: ${errorText(error)}`)
    const { sessionId } = entry.seat
    if (sessionId === null) proxying.tell(errorLine(id, failureOf(error)))
    else proxying.toAgent(withSessionId(line, sessionId))
  } finally {
    entry.prompts.delete(under)
  }
}

const cancelled = { stopReason: 'cancelled' }

interface Sending {
  readonly agent: SeatAgent
  readonly sessionId: string
  readonly telling: string | null
  onSent(): void
  onAnswer(bytes: Buffer): void
}

async function sendOn(
  { toAgent, answers }: Proxying,
  entry: Entry,
  line: Line,
  { agent, sessionId, telling, onSent, onAnswer }: Sending,
): Promise<PromptEnd> {
  await setAgain(entry, agent, sessionId)
  const id = line.message!.id!
  const mapped = withSessionId(line, sessionId)
  const block = telling === null ? [] : [JSON.stringify({ type: 'text', text: telling })]
  return new Promise((resolve, reject) => {
    answers.expect(id, {
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
async function setAgain(entry: Entry, agent: SeatAgent, sessionId: string): Promise<void> {
  if (entry.setIn === sessionId) return
  entry.setIn = sessionId
  for (const { method, params } of entry.settings.values()) {
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
