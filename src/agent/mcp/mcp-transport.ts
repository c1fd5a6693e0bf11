import { type ChildProcess, spawn } from 'node:child_process'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { InvalidError } from '../../core/errors.ts'
import { atMost } from '../../system/at-most.ts'
import { endGroup, endWithUs } from '../../system/process-group.ts'

/** An MCP server that runs as a child process. */
export interface McpProcessServer {
  /** The program to start: a path, or a name that is searched in `PATH`. */
  readonly command: string
  /** Its arguments. Default: none. */
  readonly args?: readonly string[]
  /** Variables for the process. From our own environment it gets only a few safe ones, such as `PATH` and
   *  `HOME`. */
  readonly env?: Readonly<Record<string, string>>
  /** The working directory. Default: that of this process. */
  readonly cwd?: string
}

/** An MCP server that is reached over streamable HTTP. */
export interface McpHttpServer {
  /** The endpoint of the server. */
  readonly url: string
  /** Sent with every request, for example for authorization. Default: none. */
  readonly headers?: Readonly<Record<string, string>>
}

/** An MCP server: a command to start, or a URL. */
export type McpServer = McpProcessServer | McpHttpServer

/** A connection to a server that is not open yet. */
export interface McpWire {
  readonly transport: Transport
  /** The last output of the server on its standard error. */
  printed(): string
  /** How its process ended; null while it runs, or without a process. */
  ending(): string | null
}

/** Makes the transport to a server. Starts nothing yet. Throws InvalidError, and TypeError for an invalid
 *  URL. */
export async function mcpWire(server: McpServer, graceMs: number): Promise<McpWire> {
  if ('command' in server === 'url' in server) {
    throw new InvalidError('server', 'must have either a command or a url')
  }
  const sdk = await import('@modelcontextprotocol/client')
  if ('url' in server) {
    const requestInit = { headers: { ...server.headers } }
    const transport = new sdk.StreamableHTTPClientTransport(new URL(server.url), { requestInit })
    return { transport, printed: () => '', ending: () => null }
  }
  const { StdioClientTransport, getDefaultEnvironment } = await import('@modelcontextprotocol/client/stdio')
  let printed = ''
  const onStderr = (text: string) => {
    printed = (printed + text).slice(-2_000)
  }
  const heard = () => printed
  const { command, args = [], env = {}, cwd } = server
  if (process.platform !== 'win32') {
    const options = { env: getDefaultEnvironment(), graceMs, onStderr }
    const transport = processTransport(server, options, sdk)
    return { transport, printed: heard, ending: () => transport.ending }
  }
  // Windows has no process groups, and only the SDK's transport can start .cmd files.
  const place = cwd === undefined ? {} : { cwd }
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...env },
    ...place,
    stderr: 'pipe',
  })
  transport.stderr?.on('data', chunk => onStderr(String(chunk)))
  return { transport, printed: heard, ending: () => null }
}

/** A transport to a server in a child process. Unlike the SDK's transport, it starts a process group: Ctrl+C
 *  does not reach the server, and processes that the command has started (`npx`, `uvx` and shells start the
 *  server as their child) end with it. For POSIX systems. */
interface ProcessTransport extends Transport {
  /** How the process ended, for error messages; null while it runs. */
  readonly ending: string | null
}

/** The part of the SDK that is used here. Passed in, because the SDK is loaded only if there are servers. */
interface MessageCodec {
  deserializeMessage(line: string): JSONRPCMessage
  serializeMessage(message: JSONRPCMessage): string
}

interface ProcessOptions {
  readonly env: Readonly<Record<string, string>>
  /** How long it may take to end after its input has ended, and again after SIGTERM. */
  readonly graceMs: number
  onStderr(text: string): void
}

/** A process or one end of a pipe, which can keep our process alive or not. */
interface Handle {
  ref(): void
  unref(): void
}

/** The longest line to accept; longer input is malformed. */
const longestLine = 64 * 1024 * 1024

function processTransport(
  server: McpProcessServer,
  options: ProcessOptions,
  codec: MessageCodec,
): ProcessTransport {
  let child: ChildProcess | null = null
  let ending: string | null = null
  let closed = false
  let closing: Promise<void> | null = null
  const unanswered = new Set<unknown>()
  const transport: ProcessTransport & { onclose?: () => void } = {
    get ending() {
      return ending
    },
    start: () =>
      new Promise((resolve, reject) => {
        if (closed) return reject(new Error('it has been closed'))
        const started = spawn(server.command, server.args ?? [], {
          env: { ...options.env, ...server.env },
          ...(server.cwd === undefined ? {} : { cwd: server.cwd }),
          stdio: ['pipe', 'pipe', 'pipe'],
          detached: true,
        })
        child = started
        if (started.pid !== undefined) endWithUs(started.pid)
        started.once('error', error => {
          reject(error)
          transport.onerror?.(error)
        })
        started.once('spawn', () => {
          resolve()
        })
        started.once('exit', (code, signal) => {
          ending ??= signal === null ? `exit code ${code}` : `killed by ${signal}`
        })
        // The output is complete when all processes that hold it have ended.
        started.once('close', () => {
          if (started.pid !== undefined) void endGroup(started.pid, 0)
          transport.onclose?.()
        })
        for (const stream of [started.stdin, started.stdout, started.stderr]) {
          stream.on('error', error => transport.onerror?.(error))
        }
        started.stdout.on(
          'data',
          readLines(line => receive(line)),
        )
        started.stderr.setEncoding('utf8').on('data', (text: string) => options.onStderr(text))
        keepAlive()
      }),
    send: message =>
      new Promise((resolve, reject) => {
        if (!child?.stdin?.writable) return reject(new Error('the process has ended'))
        noteSent(message)
        child.stdin.write(codec.serializeMessage(message), error => (error ? reject(error) : resolve()))
      }),
    close() {
      closed = true
      if (child?.pid === undefined) return Promise.resolve()
      closing ??= end(child, options.graceMs)
      keepAlive()
      return closing
    },
  }

  function noteSent(message: JSONRPCMessage): void {
    if ('method' in message && 'id' in message) unanswered.add(message.id)
    // A cancelled request gets no answer.
    if ('method' in message && message.method === 'notifications/cancelled')
      unanswered.delete(message.params?.requestId)
    keepAlive()
  }

  /** An idle server does not keep our process alive, whose end also ends the server. */
  function keepAlive(): void {
    const needed = unanswered.size > 0 || closing !== null
    for (const one of [child, child?.stdin, child?.stdout, child?.stderr] as readonly Partial<Handle>[]) {
      if (needed) one?.ref?.()
      else one?.unref?.()
    }
  }

  function receive(line: string): void {
    try {
      const message = codec.deserializeMessage(line)
      if ('id' in message && !('method' in message) && unanswered.delete(message.id)) keepAlive()
      transport.onmessage?.(message)
    } catch (error) {
      // Many servers print a greeting to their output: only lines that look like JSON are reported.
      if (line.trimStart().startsWith('{')) transport.onerror?.(error as Error)
    }
  }

  function readLines(onLine: (line: string) => void): (chunk: Buffer) => void {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
    let begun: string[] = []
    let length = 0
    return chunk => {
      const [first, ...more] = decoder.decode(chunk, { stream: true }).split('\n')
      begun.push(first!)
      length += first!.length
      for (const next of more) {
        const line = begun.join('')
        begun = [next]
        length = next.length
        onLine(line)
      }
      if (length <= longestLine) return
      ending = `it sent a line of more than ${longestLine} characters`
      begun = []
      length = 0
      void transport.close()
    }
  }

  return transport
}

/** Ends a process and its descendants: closes its input, then SIGTERM, then SIGKILL. */
async function end(child: ChildProcess, graceMs: number): Promise<void> {
  const exited = new Promise<void>(resolve => {
    if (child.exitCode !== null || child.signalCode !== null) resolve()
    else child.once('exit', () => resolve())
  })
  child.stdin?.end()
  await atMost(graceMs, exited)
  await endGroup(child.pid!, graceMs)
  await exited
  // A process that has left the group may still hold the streams; do not wait for it.
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy()
}
