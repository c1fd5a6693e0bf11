import { createInterface } from 'node:readline'

/** A prompt for an agent that is written without the SDK. */
export interface RawPrompt {
  readonly sessionId: string
  readonly text: string
  /** Ends the turn, with its usage. */
  end(usage?: object): void
}

export interface RawAgent {
  /** Returns the id of a new session. */
  begin(): string
  prompt(asked: RawPrompt): Promise<void>
}

interface Asked {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly sessionId?: string; readonly prompt?: readonly { readonly text?: string }[] }
}

const write = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

export const send = (sessionId: string, update: object) =>
  write({ method: 'session/update', params: { sessionId, update } })

export const say = (sessionId: string, text: string) =>
  send(sessionId, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })

/** An agent without any capabilities, on stdin and stdout. It can do what the SDK would not allow. */
export function runRaw({ begin, prompt }: RawAgent): void {
  createInterface({ input: process.stdin })
    .on('line', line => void answer(JSON.parse(line) as Asked))
    .on('close', () => process.exit())

  async function answer({ id, method, params }: Asked): Promise<void> {
    if (method === 'initialize') write({ id, result: { protocolVersion: 1, agentCapabilities: {} } })
    else if (method === 'session/new') {
      const sessionId = begin()
      write({ id, result: { sessionId } })
      send(sessionId, { sessionUpdate: 'available_commands_update', availableCommands: [] })
    } else if (method === 'session/prompt') {
      await prompt({
        sessionId: params!.sessionId!,
        text: params!.prompt!.map(({ text = '' }) => text).join('\n'),
        end: usage => write({ id, result: { stopReason: 'end_turn', ...(usage ? { usage } : {}) } }),
      })
    }
  }
}
