import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { stateFolder } from '../agents/environment.ts'

/** Never answers `--never=initialize`, `--never=load` or the end of a cancelled turn (`--never=cancel`). With
 *  `--once`, only its first process does not answer. Each prompt is answered with the texts that it
 *  contains. A prompt that begins with `slow` ends when it is cancelled. */
const { values } = parseArgs({
  options: { never: { type: 'string', default: '' }, once: { type: 'boolean', default: false } },
})
const file = join(stateFolder(), 'started')
const isFirst = !existsSync(file)
writeFileSync(file, '')
const never = values.once && !isFirst ? '' : values.never

interface Received {
  readonly id?: number
  readonly method?: string
  readonly params?: {
    readonly sessionId?: string
    readonly modelId?: string
    readonly prompt?: readonly { readonly text?: string }[]
  }
}

const write = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const slow = new Map<string, number>()
let sessions = 0
let model = 'small'
const models = {
  currentModelId: model,
  availableModels: ['small', 'large'].map(id => ({ modelId: id, name: id })),
}

createInterface({ input: process.stdin })
  .on('line', line => take(JSON.parse(line) as Received))
  .on('close', () => process.exit())

function take({ id, method, params = {} }: Received): void {
  const { sessionId = '' } = params
  if (method === 'initialize' && never !== 'initialize')
    write({ id, result: { protocolVersion: 1, agentCapabilities: { loadSession: values.never === 'load' } } })
  else if (method === 'session/new')
    write({ id, result: { sessionId: `hanging-${process.pid}-${++sessions}`, models } })
  else if (method === 'session/set_title') write({ id, result: {} })
  else if (method === 'session/set_model') {
    model = params.modelId!
    write({ id, result: {} })
  } else if (method === 'session/load' && never !== 'load')
    write({ id, error: { code: -32_002, message: 'no' } })
  else if (method === 'session/prompt')
    prompt(id!, sessionId, params.prompt!.map(({ text }) => text).join('\n'))
  else if (method === 'session/cancel') {
    say(sessionId, 'CANCEL-HEARD')
    if (never !== 'cancel') write({ id: slow.get(sessionId), result: { stopReason: 'cancelled' } })
  }
}

function prompt(id: number, sessionId: string, text: string): void {
  say(sessionId, `heard: ${text}; model ${model}`)
  if (text.split('\n').at(-1)!.startsWith('slow')) slow.set(sessionId, id)
  else write({ id, result: { stopReason: 'end_turn' } })
}

function say(sessionId: string, text: string): void {
  const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } }
  write({ method: 'session/update', params: { sessionId, update } })
}
