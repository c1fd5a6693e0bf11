import { once } from 'node:events'
import { Readable, Writable } from 'node:stream'
import {
  type ClientCapabilities,
  type ClientContext,
  client,
  type InitializeResponse,
  type NewSessionResponse,
  ndJsonStream,
  type PromptResponse,
  RequestError,
  type RequestPermissionRequest,
  type SessionUpdate,
} from '@agentclientprotocol/sdk/unstable'

/** An ordinary editor: the SDK's client, on any connection to an agent. */
export interface Editor {
  readonly hello: InitializeResponse
  readonly agent: ClientContext
  /** The permission requests, in order. */
  readonly asked: readonly RequestPermissionRequest[]
  /** Its open files, by path. */
  readonly files: Map<string, string>
  /** The requests for its terminals, in order. */
  readonly terminals: readonly string[]
  /** Called when a terminal is created. Returns its output when the command exits. */
  onCommand(run: (command: string) => Promise<{ readonly output: string; readonly exitCode: number }>): void
  /** How later permission requests are answered: with this option, when they are cancelled, or never. */
  permit(option: string | 'when called off' | 'never'): void
  begin(params?: object): Promise<NewSessionResponse>
  prompt(sessionId: string, text: string): Promise<PromptResponse>
  cancel(sessionId: string): Promise<void>
  /** The updates of a session so far, in order. */
  shown(sessionId: string): readonly SessionUpdate[]
  /** Forgets the updates. */
  forget(): void
  /** Resolves as soon as an update or a request makes the condition true. */
  until(isSo: () => boolean): Promise<void>
}

export async function editorOn(
  output: Writable,
  input: Readable,
  cwd: string,
  can: Pick<ClientCapabilities, 'fs' | 'terminal'> = {},
): Promise<Editor> {
  const shown = new Map<string, SessionUpdate[]>()
  const asked: RequestPermissionRequest[] = []
  const looking = new Set<() => void>()
  const files = new Map<string, string>()
  const terminals: string[] = []
  const running = new Map<string, Promise<{ readonly output: string; readonly exitCode: number }>>()
  let runCommand = async (_: string) => ({ output: '', exitCode: 0 })
  let option = 'allow_once'
  const of = (sessionId: string) => {
    const updates = shown.get(sessionId) ?? []
    shown.set(sessionId, updates)
    return updates
  }
  const look = () => {
    for (const one of looking) one()
  }
  const { agent } = client({ name: 'editor' })
    .onNotification('session/update', ({ params }) => {
      of(params.sessionId).push(params.update)
      look()
    })
    .onRequest('session/request_permission', async ({ params, signal }) => {
      asked.push(params)
      look()
      if (option === 'never') await new Promise(() => undefined)
      if (option !== 'when called off') return { outcome: { outcome: 'selected', optionId: option } }
      await once(signal, 'abort')
      return { outcome: { outcome: 'cancelled' } }
    })
    .onRequest('fs/read_text_file', ({ params: { path, line, limit } }) => {
      const content = files.get(path)
      if (content === undefined) throw new RequestError(-32_002, `there is no ${path}`)
      const from = (line ?? 1) - 1
      const lines = content.split('\n').slice(from, limit ? from + limit : undefined)
      return { content: lines.join('\n') }
    })
    .onRequest('fs/write_text_file', ({ params: { path, content } }) => {
      files.set(path, content)
      return {}
    })
    .onRequest('terminal/create', ({ params: { args = [], cwd } }) => {
      const terminalId = `t${running.size + 1}`
      terminals.push(`create ${args.at(-1)} in ${cwd}`)
      running.set(terminalId, runCommand(args.at(-1) ?? ''))
      return { terminalId }
    })
    .onRequest('terminal/wait_for_exit', async ({ params: { terminalId } }) => ({
      exitCode: (await running.get(terminalId)!).exitCode,
    }))
    .onRequest('terminal/output', async ({ params: { terminalId } }) => {
      const { output, exitCode } = await running.get(terminalId)!
      return { output, truncated: false, exitStatus: { exitCode } }
    })
    .onRequest('terminal/kill', ({ params: { terminalId } }) => {
      terminals.push(`kill ${terminalId}`)
      running.set(terminalId, Promise.resolve({ output: 'killed', exitCode: 143 }))
      return {}
    })
    .onRequest('terminal/release', ({ params: { terminalId } }) => {
      terminals.push(`release ${terminalId}`)
      return {}
    })
    .connect(ndJsonStream(Writable.toWeb(output), Readable.toWeb(input) as ReadableStream<Uint8Array>))
  return {
    hello: await agent.request('initialize', { protocolVersion: 1, clientCapabilities: can }),
    agent,
    asked,
    files,
    terminals,
    onCommand(run) {
      runCommand = run
    },
    permit(wanted) {
      option = wanted
    },
    begin: params => agent.request('session/new', { cwd, mcpServers: [], ...params }),
    prompt: (sessionId, text) =>
      agent.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] }),
    cancel: sessionId => agent.notify('session/cancel', { sessionId }),
    shown: of,
    forget: () => shown.clear(),
    until: isSo =>
      new Promise(resolve => {
        const one = () => {
          if (!isSo()) return
          looking.delete(one)
          resolve()
        }
        looking.add(one)
        one()
      }),
  }
}

/** The shown text, with consecutive texts of one speaker joined: `['user: hello', 'agent: hi']`. */
export function wordsIn(updates: readonly SessionUpdate[]): readonly string[] {
  const words: { who: string; text: string }[] = []
  for (const update of updates) {
    const who = speakers[update.sessionUpdate]
    if (who === undefined) continue
    const { content } = update as Extract<SessionUpdate, { sessionUpdate: 'agent_message_chunk' }>
    const text = content.type === 'text' ? content.text : `[${content.type}]`
    const last = words.at(-1)
    if (last?.who === who) last.text += text
    else words.push({ who, text })
  }
  return words.map(({ who, text }) => `${who}: ${text}`)
}

const speakers: Readonly<Record<string, string>> = {
  user_message_chunk: 'user',
  agent_message_chunk: 'agent',
  agent_thought_chunk: 'thought',
}

/** Updates of one kind. */
export function only<K extends SessionUpdate['sessionUpdate']>(
  updates: readonly SessionUpdate[],
  kind: K,
): readonly Extract<SessionUpdate, { sessionUpdate: K }>[] {
  return updates.filter(
    (one): one is Extract<SessionUpdate, { sessionUpdate: K }> => one.sessionUpdate === kind,
  )
}
