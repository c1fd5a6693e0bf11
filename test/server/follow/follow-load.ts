import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { loadToken } from './load-server.ts'

/** Followers of conversations on two server processes of one store, while writers append to them. */

/** The size of a run. */
export interface FollowLoad {
  /** A file or a URL. */
  readonly target: string
  /** Streams, of one conversation each, half of them at each server. */
  readonly followers: number
  /** Each has one writer with an append a second, at each server in turn. */
  readonly conversations: number
  readonly seconds: number
  /** The second of the first measurement of memory under load; the other one is at the end. */
  readonly firstSecond: number
}

/** The memory of a server, in bytes, after a collection of all garbage. */
export interface LoadMemory {
  readonly resident: number
  /** The heap, and buffers outside of it. */
  readonly heap: number
}

/** What a run has shown. */
export interface FollowLoadResult {
  readonly appends: number
  /** Messages that followers have received. */
  readonly deliveries: number
  /** Messages that were missing, doubled or out of order. */
  readonly faults: readonly string[]
  /** Milliseconds from the request of the writer to the event at the follower, sorted. */
  readonly latencies: readonly number[]
  /** Bytes per follower that waits, of all memory and of what JavaScript holds. */
  readonly perFollower: LoadMemory
  /** The memory at the end ÷ at the first measurement, of the server that grew most. */
  readonly growth: LoadMemory
}

/** How long the last events may take before they count as missing. */
const lastEventsMs = 60_000

/** Runs the load. The target must be an empty store. */
export async function followLoad(load: FollowLoad): Promise<FollowLoadResult> {
  await using first = await startServer(load.target)
  await using second = await startServer(load.target)
  const servers = [first, second] as const
  const conversations: string[] = []
  for (let n = 0; n < load.conversations; n++)
    conversations.push((await send<{ id: string }>(first.port, '/conversations', {})).id)

  const follow = () =>
    Promise.all(
      Array.from({ length: load.followers }, (_, i) => {
        const conversation = i % load.conversations
        const { port } = servers[Math.floor(i / load.conversations) % 2]!
        return startFollower(port, conversations[conversation]!, conversation)
      }),
    )
  // The first followers and writes load code and fill caches.
  const early = await follow()
  for (const [i, id] of conversations.entries()) {
    const { port } = servers[i % 2]!
    await send(port, `/conversations/${id}/messages`, messageOf(`warm-up ${i}`))
  }
  for (const one of early) one.close()
  await Promise.all(servers.map(({ port }) => withoutFollowers(port)))

  const before = await memoryOf(servers)
  const followers = await follow()
  // A stream begins with the activity of the last minute, which waits in the server until it is sent.
  await arrived(() => followers.every(one => one.active.size === load.conversations))
  const connected = await memoryOf(servers)
  const sent = conversations.map(() => 0)
  const writing = AbortSignal.timeout(load.seconds * 1_000)
  const writers = conversations.map((id, i) => write(id, i))
  const loaded: LoadMemory[][] = []
  await pause(load.firstSecond * 1_000)
  loaded.push(await memoryOf(servers))
  await Promise.all(writers)
  loaded.push(await memoryOf(servers))
  await arrived(() => followers.every(one => one.received >= sent[one.conversation]!))
  for (const one of followers) {
    if (one.received < sent[one.conversation]!)
      one.faults.push(`${one.received} of ${sent[one.conversation]} messages have arrived`)
    one.close()
  }
  return {
    appends: sum(sent),
    deliveries: sum(followers.map(({ received }) => received)),
    faults: followers.flatMap(({ faults }) => faults),
    latencies: followers.flatMap(({ latencies }) => latencies).sort((a, b) => a - b),
    perFollower: {
      resident: sum(connected.map((one, i) => one.resident - before[i]!.resident)) / load.followers,
      heap: sum(connected.map((one, i) => one.heap - before[i]!.heap)) / load.followers,
    },
    growth: {
      resident: Math.max(...loaded[1]!.map((one, i) => one.resident / loaded[0]![i]!.resident)),
      heap: Math.max(...loaded[1]!.map((one, i) => one.heap / loaded[0]![i]!.heap)),
    },
  }

  /** Appends once a second, each writer at its own moment of the second. */
  async function write(id: string, i: number): Promise<void> {
    await pause((i * 1_000) / load.conversations)
    for (let next = performance.now(); !writing.aborted; ) {
      const n = sent[i]!
      const { port } = servers[(i + n) % 2]!
      await send(port, `/conversations/${id}/messages`, messageOf(`load ${n} ${performance.now()} end`))
      sent[i] = n + 1
      next = Math.max(next + 1_000, performance.now())
      await pause(Math.max(0, next - performance.now()), undefined, { signal: writing }).catch(
        () => undefined,
      )
    }
  }
}

/** Waits until everything has arrived, but not for longer than `lastEventsMs`. */
async function arrived(isComplete: () => boolean): Promise<void> {
  for (const end = performance.now() + lastEventsMs; !isComplete() && performance.now() < end; )
    await pause(20)
}

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0)

function messageOf(words: string): object {
  return { messages: [{ role: 'user', content: `${words} ${'and more words '.repeat(10)}` }] }
}

interface Server extends AsyncDisposable {
  readonly port: number
  memory(): Promise<LoadMemory>
}

async function startServer(target: string): Promise<Server> {
  const script = join(import.meta.dirname, 'load-server.ts')
  const args = ['--expose-gc', script, target]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ended = once(child, 'exit')
  const { value: port } = await lines.next()
  if (port === undefined) throw new Error('the server has not started')
  return {
    port: Number(port),
    async memory() {
      child.stdin.write('\n')
      const { value } = await lines.next()
      return JSON.parse(value as string) as LoadMemory
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end()
      await ended
    },
  }
}

function memoryOf(servers: readonly Server[]): Promise<LoadMemory[]> {
  return Promise.all(servers.map(server => server.memory()))
}

const writeAgent = new Agent({ keepAlive: true })
const headers = { authorization: `Bearer ${loadToken}`, 'content-type': 'application/json' }

async function send<T>(port: number, path: string, body: object): Promise<T> {
  const call = request({ port, agent: writeAgent, method: 'POST', headers, path: `/api/v1${path}` })
  call.end(JSON.stringify(body))
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  const text = await textOf(response)
  if (response.statusCode !== 201) throw new Error(`POST ${path}: ${response.statusCode} ${text}`)
  return JSON.parse(text) as T
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  return text
}

/** Waits until the server has noticed that its followers have left. */
async function withoutFollowers(port: number): Promise<void> {
  for (;;) {
    const call = request({ port, agent: writeAgent, headers, path: '/metrics' }).end()
    const [response] = (await once(call, 'response')) as [IncomingMessage]
    const text = await textOf(response)
    if (/^skein_followers 0$/m.test(text)) return
    await pause(20)
  }
}

interface LoadFollower {
  /** The number of its conversation. */
  readonly conversation: number
  readonly received: number
  /** The conversations whose activity has arrived. */
  readonly active: ReadonlySet<string>
  readonly faults: string[]
  readonly latencies: number[]
  close(): void
}

/** Follows one conversation. Resolves when the first event has arrived, so that nothing later is missed. */
async function startFollower(port: number, id: string, conversation: number): Promise<LoadFollower> {
  const path = `/api/v1/follow?conversation=${id}`
  const call = request({
    port,
    agent: false,
    headers: { ...headers, accept: 'text/event-stream' },
    path,
  }).end()
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  if (response.statusCode !== 200) throw new Error(`GET ${path}: ${response.statusCode}`)
  const faults: string[] = []
  const latencies: number[] = []
  const active = new Set<string>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  let received = 0
  let rest = ''
  let isClosed = false
  response.setEncoding('utf8').on('data', (chunk: string) => {
    const events = (rest + chunk).split('\n\n')
    rest = events.pop()!
    for (const event of events) take(event)
  })
  response.on('close', () => {
    if (!isClosed) faults.push('the stream has ended')
    begin()
  })
  response.on('error', () => undefined)
  await begun
  return {
    conversation,
    active,
    faults,
    latencies,
    get received() {
      return received
    },
    close() {
      isClosed = true
      call.destroy()
    },
  }

  function take(event: string): void {
    if (event.includes('event: branches\n')) begin()
    if (event.includes('event: activity\n')) active.add(/"conversation":"([^"]+)"/.exec(event)![1]!)
    if (!event.includes('event: message\n')) return
    const [, n, at] = /load (\d+) ([\d.]+) end/.exec(event) ?? []
    if (n === undefined) return
    if (Number(n) !== received) faults.push(`message ${n} instead of ${received}`)
    received = Number(n) + 1
    latencies.push(performance.now() - Number(at))
  }
}
