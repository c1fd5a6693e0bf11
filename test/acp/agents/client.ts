import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { killAll, processesOf, runVariable } from './processes.ts'
import { openThread, type Thread } from './shown.ts'

/** A message of the wire, as far as tests read it. */
export interface WireMessage {
  readonly id?: string | number | null
  readonly method?: string
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects
  readonly params?: any
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects
  readonly result?: any
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** A refused request. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly code: number

  constructor(method: string, { code, message }: { readonly code: number; readonly message: string }) {
    super(`${method}: ${code} ${message}`)
    this.code = code
  }
}

export interface ClientOptions {
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** Answers the agent's requests; `undefined` refuses with -32601. A promise is an answer, too. Default:
   *  allows permissions. */
  readonly onRequest?: (method: string, params: unknown) => unknown
  /** Capabilities of the client. Default: files can be read and written. */
  readonly capabilities?: object
  /** How long an answer may take. Default: 20 s. */
  readonly patienceMs?: number
}

/** An ordinary editor: lines over pipes, without the SDK, so that it sees what is really sent. */
export interface AcpClient {
  readonly pid: number
  /** The answer to `initialize`. */
  readonly agent: WireMessage['result']
  /** Every received line, unchanged, and its message; null if it is not JSON. */
  readonly lines: readonly string[]
  readonly messages: readonly (WireMessage | null)[]
  /** The stderr of the other side. */
  readonly complaints: string
  /** The shown messages of a session. */
  thread(sessionId: string): Thread
  /** The updates of a session, in order. */
  updates(sessionId: string): readonly { readonly sessionUpdate: string; readonly [field: string]: unknown }[]
  newSession(params?: object): Promise<string>
  /** Opens an existing session: its thread begins anew. */
  load(sessionId: string, params?: object): Promise<WireMessage['result']>
  resume(sessionId: string, params?: object): Promise<WireMessage['result']>
  /** Sends a prompt and waits for the end of the turn. */
  prompt(sessionId: string, text: string | readonly object[]): Promise<WireMessage['result']>
  cancel(sessionId: string): void
  request(method: string, params: object): Promise<WireMessage['result']>
  notify(method: string, params: object): void
  /** Sends a line of bytes, without its line end. */
  send(line: string): void
  /** Waits for such a message, also among those that have arrived. */
  until(isIt: (message: WireMessage) => boolean): Promise<WireMessage>
  /** Waits until this text is shown in a session. */
  untilShown(sessionId: string, text: string): Promise<void>
  /** Kills the other side and all its children, as a power cut would. */
  kill9(): Promise<void>
  /** Disconnects, waits until the other side exits, and returns how. Remaining processes are killed, and are
   *  an error. */
  end(): Promise<number | null>
  /** The living processes that descend from this start. */
  leftovers(): readonly number[]
}

/** Starts a command and initializes it. */
export async function startClient(command: readonly string[], options: ClientOptions): Promise<AcpClient> {
  const run = randomUUID()
  const patience = options.patienceMs ?? 20_000
  const child = spawn(command[0]!, command.slice(1), {
    cwd: options.cwd,
    env: { ...options.env, [runVariable]: run },
    stdio: 'pipe',
    detached: true,
  })
  const ended = new Promise<number | null>(resolve => child.on('close', resolve))
  const lines: string[] = []
  const messages: (WireMessage | null)[] = []
  const threads = new Map<string, Thread>()
  const open = new Map<number, (message: WireMessage) => void>()
  const waiting = new Set<() => void>()
  let complaints = ''
  let nextId = 0
  child.on('error', error => {
    complaints += error.message
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  child.stdin.on('error', () => undefined) // it may have gone

  const threadOf = (sessionId: string) =>
    threads.get(sessionId) ?? threads.set(sessionId, openThread()).get(sessionId)!
  const send = (line: string) => child.stdin.write(`${line}\n`)
  const say = (message: object) => send(JSON.stringify({ jsonrpc: '2.0', ...message }))

  createInterface({ input: child.stdout }).on('line', line => {
    const message = readMessage(line)
    lines.push(line)
    messages.push(message)
    if (message) take(message)
    for (const look of waiting) look()
  })

  function take(message: WireMessage): void {
    const { id, method, params } = message
    if (method === 'session/update') threadOf(params.sessionId).hear(params.update)
    else if (method !== undefined && id !== undefined) {
      const result = options.onRequest?.(method, params) ?? ordinaryAnswer(method, params)
      const refusal = { error: { code: -32_601, message: `no method ${method}` } }
      const reply = (answer: unknown) => say({ id, ...(answer === undefined ? refusal : { result: answer }) })
      if (result instanceof Promise) void result.then(reply)
      else reply(result)
    } else if (method === undefined) open.get(Number(id))?.(message)
  }

  function failing(what: string, needsIt = true): Promise<never> {
    const signal = AbortSignal.timeout(patience)
    const late = new Promise<string>(resolve => signal.addEventListener('abort', () => resolve('too late')))
    const gone = ended.then(code => `the process has ended (${code})`)
    return Promise.race(needsIt ? [late, gone] : [late]).then(reason =>
      Promise.reject(new Error(`${what}: ${reason}\n${complaints}\n${lines.slice(-5).join('\n')}`)),
    )
  }

  async function request(method: string, params: object): Promise<WireMessage['result']> {
    const id = nextId++
    const answer = new Promise<WireMessage>(resolve => open.set(id, resolve))
    say({ id, method, params })
    const { result, error } = await Promise.race([answer, failing(method)])
    open.delete(id)
    if (error) throw new Refused(method, error)
    return result
  }

  function until(isIt: (message: WireMessage) => boolean): Promise<WireMessage> {
    const found = new Promise<WireMessage>(resolve => {
      const look = () => {
        const message = messages.find(one => one !== null && isIt(one))
        if (!message) return
        waiting.delete(look)
        resolve(message)
      }
      waiting.add(look)
      look()
    })
    return Promise.race([found, failing('waiting for a message')])
  }

  const place = { cwd: options.cwd, mcpServers: [] }
  async function kill9(): Promise<void> {
    if (process.platform !== 'linux' && child.pid) process.kill(-child.pid, 'SIGKILL')
    await killAll(run)
    await ended
  }

  const agent = await request('initialize', {
    protocolVersion: 1,
    clientInfo: { name: 'test-editor', version: '1' },
    clientCapabilities: options.capabilities ?? { fs: { readTextFile: true, writeTextFile: true } },
  }).catch(async error => {
    await kill9()
    throw error
  })

  return {
    pid: child.pid!,
    agent,
    lines,
    messages,
    get complaints() {
      return complaints
    },
    thread: threadOf,
    updates: sessionId =>
      messages
        .filter(one => one?.method === 'session/update' && one.params.sessionId === sessionId)
        .map(one => one!.params.update),
    async newSession(params = {}) {
      const { sessionId } = await request('session/new', { ...place, ...params })
      return sessionId
    },
    load(sessionId, params = {}) {
      threadOf(sessionId).clear()
      return request('session/load', { ...place, ...params, sessionId })
    },
    resume: (sessionId, params = {}) => request('session/resume', { ...place, ...params, sessionId }),
    prompt(sessionId, text) {
      const prompt = typeof text === 'string' ? [{ type: 'text', text }] : text
      threadOf(sessionId).say(prompt.map(block => ('text' in block ? block.text : '')).join('\n'))
      return request('session/prompt', { sessionId, prompt })
    },
    cancel: sessionId => say({ method: 'session/cancel', params: { sessionId } }),
    request,
    notify: (method, params) => say({ method, params }),
    send,
    until,
    async untilShown(sessionId, text) {
      await until(() => threadOf(sessionId).times(text) > 0)
    },
    kill9,
    async end() {
      child.stdin.end()
      try {
        const code = await Promise.race([ended, failing('hanging up', false)])
        const left = processesOf(run)
        if (left.length > 0) throw new Error(`it has left processes behind: ${left.join(', ')}`)
        return code
      } finally {
        await killAll(run)
      }
    },
    leftovers: () => processesOf(run),
  }
}

function readMessage(line: string): WireMessage | null {
  try {
    return JSON.parse(line) as WireMessage
  } catch {
    return null
  }
}

function ordinaryAnswer(method: string, params: { options?: readonly { optionId: string; kind: string }[] }) {
  if (method === 'session/request_permission') {
    const allowing = params.options?.find(({ kind }) => kind === 'allow_once') ?? params.options?.[0]
    return { outcome: { outcome: 'selected', optionId: allowing?.optionId } }
  }
  if (method === 'fs/read_text_file') return { content: 'the content of the file' }
  if (method === 'fs/write_text_file') return {}
  return undefined
}
