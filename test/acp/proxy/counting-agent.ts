import { createInterface } from 'node:readline'
import { askModel } from '../agents/ask-model.ts'
import type { ModelMessage } from '../agents/step.ts'

/** Names its sessions 1, 2, 3 …, beginning anew in each process, and forgets: some agents count by the day. */
const known = new Map<string, ModelMessage[]>()
const write = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

interface Asked {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly sessionId?: string; readonly prompt?: readonly { readonly text?: string }[] }
}

createInterface({ input: process.stdin })
  .on('line', line => void answer(JSON.parse(line) as Asked))
  .on('close', () => process.exit())

async function answer({ id, method, params }: Asked): Promise<void> {
  if (method === 'initialize') write({ id, result: { protocolVersion: 1, agentCapabilities: {} } })
  else if (method === 'session/new') {
    const sessionId = String(known.size + 1)
    known.set(sessionId, [])
    write({ id, result: { sessionId } })
    const update = { sessionUpdate: 'available_commands_update', availableCommands: [] }
    write({ method: 'session/update', params: { sessionId, update } })
  } else if (method === 'session/prompt') {
    const sessionId = params!.sessionId!
    const messages = known.get(sessionId)!
    messages.push({ role: 'user', text: params!.prompt!.map(({ text = '' }) => text).join('') })
    const call = { agent: 'counting', sessionId, messages }
    for await (const step of askModel(call, new AbortController().signal)) {
      if (step.type !== 'text') continue
      const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: step.text } }
      write({ method: 'session/update', params: { sessionId, update } })
    }
    write({ id, result: { stopReason: 'end_turn' } })
  }
}
