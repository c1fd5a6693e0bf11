import { createInterface } from 'node:readline'
import { setTimeout as rest } from 'node:timers/promises'
import { askModel } from '../agents/ask-model.ts'
import type { ModelMessage } from '../agents/step.ts'

/** Says everything about its calls twice, and the end of its answers after it has ended its turn. Forgets. */
const known: ModelMessage[] = []
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
  else if (method === 'session/new') write({ id, result: { sessionId: `late-${process.pid}` } })
  else if (method === 'session/prompt') await prompt(id, params!)
}

async function prompt(id: number | undefined, { sessionId, prompt: blocks }: NonNullable<Asked['params']>) {
  const send = (update: object) => write({ method: 'session/update', params: { sessionId, update } })
  const say = (text: string) =>
    send({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
  known.push({ role: 'user', text: blocks!.map(({ text = '' }) => text).join('\n') })
  const call = { toolCallId: `call-${known.length}`, title: 'Look', kind: 'read' }
  for (const _ of [1, 2]) send({ sessionUpdate: 'tool_call', ...call, status: 'in_progress' })
  for (const _ of [1, 2])
    send({ sessionUpdate: 'tool_call_update', ...call, status: 'completed', rawOutput: 'seen' })
  let text = ''
  const asked = { agent: 'late', sessionId: sessionId!, messages: known }
  for await (const step of askModel(asked, new AbortController().signal)) {
    if (step.type !== 'text') continue
    text += step.text
    say(step.text)
  }
  known.push({ role: 'assistant', text: `${text} LATE-${known.length}.` })
  write({ id, result: { stopReason: 'end_turn' } })
  await rest(150)
  say(` LATE-${known.length - 1}.`)
}
