import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { schemaProblem, unknownFields } from './schema.ts'

/** A message of the agent. */
export interface AgentMessage {
  readonly id?: string | number | null
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

/** How to start an agent. */
export interface AgentStart {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
}

/** A client without any capability, which checks every line of the agent. */
export interface Wire {
  /** All messages of the agent, in order. */
  readonly messages: readonly AgentMessage[]
  /** What is wrong with lines, by requirement. */
  readonly faults: Readonly<Record<'TRANSPORT-001' | 'TRANSPORT-002' | 'SCHEMA-001' | 'SCHEMA-002', string[]>>
  readonly stderrBytes: number
  request(method: string, params: object, id?: string | number): Promise<AgentMessage>
  notify(method: string, params: object): void
  raw(line: string): void
  /** Resolves when nothing has arrived for this long. */
  quiet(ms: number): Promise<void>
  /** Closes the input. True if the process exits in time. */
  leave(withinMs: number): Promise<boolean>
  kill(): Promise<void>
}

/** The time for a response. Some agents need long for their first one. */
const patienceMs = 90_000

export function startWire({ command, args, cwd, env }: AgentStart): Wire {
  const child = spawn(command, args, { cwd, env, stdio: 'pipe' })
  const closed = once(child, 'close')
  child.stdin.on('error', () => undefined)
  const messages: AgentMessage[] = []
  const faults: Wire['faults'] = {
    'TRANSPORT-001': [],
    'TRANSPORT-002': [],
    'SCHEMA-001': [],
    'SCHEMA-002': [],
  }
  const waiting = new Map<string, { readonly method: string; resolve(message: AgentMessage): void }>()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let stderrBytes = 0
  let rest = ''
  let n = 0
  let heardAt = performance.now()

  child.stderr.on('data', (bytes: Buffer) => {
    stderrBytes += bytes.length
  })
  child.stdout.on('data', (bytes: Buffer) => {
    heardAt = performance.now()
    try {
      rest += decoder.decode(bytes, { stream: true })
    } catch {
      faults['TRANSPORT-002'].push('stdout is not UTF-8')
    }
    const lines = rest.split('\n')
    rest = lines.pop()!
    for (const line of lines) if (line.trim() !== '') hear(line)
  })

  function hear(line: string): void {
    let message: AgentMessage & { readonly jsonrpc?: string }
    try {
      message = JSON.parse(line)
      if (message.jsonrpc !== '2.0') throw new Error('not JSON-RPC 2.0')
    } catch (error) {
      faults['TRANSPORT-001'].push(`${error}: ${line.slice(0, 200)}`)
      return
    }
    messages.push(message)
    const { id, method } = message
    if (method !== undefined) {
      check(method, 'params', message.params)
      if (id !== undefined) answer(message)
      return
    }
    const key = JSON.stringify(id)
    const asked = waiting.get(key)
    if (!asked) return
    waiting.delete(key)
    if (message.error === undefined) check(asked.method, 'result', message.result)
    asked.resolve(message)
  }

  function check(method: string, part: 'result' | 'params', value: unknown): void {
    const problem = schemaProblem(method, part, value)
    if (problem !== null) faults['SCHEMA-001'].push(problem)
    for (const field of unknownFields(method, part, value)) faults['SCHEMA-002'].push(`${method}: ${field}`)
  }

  /** Allows what the agent asks for, and refuses everything else. */
  function answer({ id, method, params }: AgentMessage): void {
    const options = (params?.options ?? []) as readonly { readonly optionId: string; readonly kind: string }[]
    const optionId = options.find(({ kind }) => kind === 'allow_once')?.optionId
    const outcome = optionId === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId }
    if (method === 'session/request_permission') send({ id, result: { outcome } })
    else send({ id, error: { code: -32_601, message: `${method} is not offered` } })
  }

  const raw = (line: string) => void child.stdin.write(`${line}\n`)
  const send = (message: object) => raw(JSON.stringify({ jsonrpc: '2.0', ...message }))

  return {
    messages,
    faults,
    get stderrBytes() {
      return stderrBytes
    },
    request(method, params, id = ++n) {
      const { promise, resolve, reject } = Promise.withResolvers<AgentMessage>()
      const late = setTimeout(() => reject(new Error(`${method} was not answered`)), patienceMs)
      waiting.set(JSON.stringify(id), { method, resolve })
      void closed.then(() => reject(new Error(`the agent exited before it answered ${method}`)))
      send({ id, method, params })
      return promise.finally(() => clearTimeout(late))
    },
    notify: (method, params) => send({ method, params }),
    raw,
    async quiet(ms) {
      const from = performance.now()
      for (;;) {
        const left = ms - (performance.now() - Math.max(from, heardAt))
        if (left <= 0) return
        await new Promise(resolve => setTimeout(resolve, left))
      }
    },
    async leave(withinMs) {
      child.stdin.end()
      const late = Promise.withResolvers<false>()
      const timer = setTimeout(() => late.resolve(false), withinMs)
      const exited = closed.then(() => true)
      return Promise.race([exited, late.promise]).finally(() => clearTimeout(timer))
    },
    async kill() {
      child.kill('SIGKILL')
      await closed
    },
  }
}
