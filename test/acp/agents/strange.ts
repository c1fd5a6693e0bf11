import { randomUUID } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { askModel } from './ask-model.ts'
import { stateFolder } from './environment.ts'
import type { ModelMessage } from './step.ts'
import { noise, receivedFile, strangeLinesFor } from './strange-lines.ts'

/** Sends unknown updates, `_meta`, extensions in both directions, numbers beyond 2^53 and duplicate keys.
 *  Written without the SDK, which would not send any of it. Forgets when its process ends. Before its answer
 *  it waits for the answers to its two requests. */
const { values } = parseArgs({ options: { noise: { type: 'boolean', default: false } } })
const received = join(stateFolder(), receivedFile)
const known = new Map<string, ModelMessage[]>()
const waiting = new Map<string, () => void>()

interface Received {
  readonly id?: string | number | null
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
}

const write = (line: string) => process.stdout.write(`${line}\n`)
const answer = (id: Received['id'], result: string) =>
  write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`)
const refuse = (id: Received['id'], code: number, message: string) =>
  write(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }))

createInterface({ input: process.stdin })
  .on('line', line => {
    appendFileSync(received, `${line}\n`)
    const message = JSON.parse(line) as Received
    if (message.method === undefined) waiting.get(String(message.id))?.()
    else take(message, line).catch(error => refuse(message.id, -32_603, String(error)))
  })
  .on('close', () => process.exit())

async function take({ id, method, params }: Received, line: string): Promise<void> {
  if (method === 'initialize') {
    return void answer(
      id,
      '{"protocolVersion":1,"agentInfo":{"name":"strange","version":"1"},"agentCapabilities":{"loadSession":false,"telepathy":{"range":9007199254740993},"_meta":{"strange.dev":{"hello":true}}},"authMethods":[]}',
    )
  }
  if (method === 'session/new') {
    const sessionId = `strange-${randomUUID()}`
    known.set(sessionId, [])
    return void answer(id, `{"sessionId":"${sessionId}","models":{"currentModelId":"odd"},"weight":1.0}`)
  }
  if (method === 'session/prompt') return prompt(id, params)
  if (method === '_strange/echo') return void answer(id, line)
  if (id !== undefined) refuse(id, -32_601, `no method ${method}`)
}

async function prompt(id: Received['id'], params: Received['params']): Promise<void> {
  const sessionId = String(params?.sessionId)
  const said = known.get(sessionId)
  if (!said) return void refuse(id, -32_002, `no session ${sessionId}`)
  const blocks = params?.prompt as readonly { readonly text?: string }[]
  said.push({ role: 'user', text: blocks.map(({ text = '' }) => text).join('\n') })
  const answers = ['strange-1', '0'].map(key => new Promise<void>(resolve => waiting.set(key, resolve)))
  if (values.noise) write(noise)
  for (const line of strangeLinesFor(sessionId)) write(line)
  await Promise.all(answers)
  let text = 'with meta. '
  const call = { agent: 'strange', sessionId, messages: said }
  for await (const step of askModel(call, new AbortController().signal)) {
    if (step.type !== 'text') continue
    text += step.text
    const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: step.text } }
    write(JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId, update } }))
  }
  said.push({ role: 'assistant', text })
  answer(id, '{"stopReason":"end_turn","_meta":{"strange.dev/cost":9007199254740993}}')
}
