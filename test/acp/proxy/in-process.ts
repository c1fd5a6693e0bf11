import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { type ProxyOptions, startProxy } from '../../../src/acp/proxy/proxy.ts'
import type { Store } from '../../../src/core/ports.ts'
import { openStore } from '../../../src/index.ts'
import { openStage, type Stage } from '../agents/harness.ts'

interface Message {
  readonly id?: number
  readonly method?: string
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects
  readonly params?: any
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects
  readonly result?: any
  readonly error?: { readonly code: number; readonly message: string }
}

/** A proxy in this process, between a test and an agent's process, with limits and a store of the test. */
export interface InProcess extends AsyncDisposable {
  readonly stage: Stage
  readonly store: Store
  readonly messages: readonly Message[]
  /** The log of the proxy. */
  readonly log: readonly string[]
  /** The whole answer, also an error. */
  request(method: string, params: object): Promise<Message>
  notify(method: string, params: object): void
  /** A new session. */
  begin(): Promise<string>
  prompt(sessionId: string, text: string): Promise<Message>
  until(isIt: (message: Message) => boolean): Promise<void>
  /** All texts of updates of a session. */
  shown(sessionId: string): string
}

export async function openInProcess(
  agent: readonly string[],
  { store: given, ...options }: Partial<ProxyOptions> & { readonly store?: Store } = {},
): Promise<InProcess> {
  const stage = await openStage()
  const store = given ?? (await openStore(':memory:'))
  const [input, output] = [new PassThrough(), new PassThrough()]
  const log: string[] = []
  const messages: Message[] = []
  const looks = new Set<() => void>()
  const [command = '', ...args] = agent
  const env = Object.fromEntries(
    Object.entries(stage.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
  const proxy = startProxy({
    ...{ store, name: 'tested', input, output, log: line => log.push(line) },
    command: { command, args, cwd: stage.cwd, env },
    ...options,
  })
  createInterface({ input: output }).on('line', line => {
    messages.push(JSON.parse(line) as Message)
    for (const look of looks) look()
  })
  const send = (message: object) => input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  let count = 0

  async function find(isIt: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const found = messages.find(isIt)
      if (found) return found
      await new Promise<void>(resolve => {
        const look = () => {
          looks.delete(look)
          resolve()
        }
        looks.add(look)
      })
    }
  }

  function request(method: string, params: object): Promise<Message> {
    const id = count++
    send({ id, method, params })
    return find(message => message.id === id && message.method === undefined)
  }

  await request('initialize', { protocolVersion: 1, clientCapabilities: {} })
  const place = { cwd: stage.cwd, mcpServers: [] }
  return {
    stage,
    store,
    messages,
    log,
    request: (method, params) => request(method, { ...place, ...params }),
    notify: (method, params) => void send({ method, params }),
    begin: async () => (await request('session/new', place)).result.sessionId,
    prompt: (sessionId, text) => request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] }),
    until: async isIt => void (await find(isIt)),
    shown: sessionId =>
      messages
        .filter(({ method, params }) => method === 'session/update' && params.sessionId === sessionId)
        .map(({ params }) => params.update.content?.text ?? '')
        .join('\n'),
    async [Symbol.asyncDispose]() {
      proxy.close()
      await proxy.done
      if (!given) await store.close()
      await stage[Symbol.asyncDispose]()
    },
  }
}
