import { type ChildProcess, spawn } from 'node:child_process'
import { StringDecoder } from 'node:string_decoder'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { atMost } from '../system/at-most.ts'
import { endGroup, endWithUs } from '../system/process-group.ts'

/** How a server is started. */
export interface ProcessServer {
  readonly command: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/** Speaks with an MCP server in a process of its own. Unlike the SDK's transport it starts a process group, so that
 *  Ctrl+C for us is none for the server, and so that whatever the command has started (`npx`, `uvx` and shells start
 *  the server as their child) ends with it. For POSIX systems. */
export interface ProcessTransport extends Transport {
  /** How the process ended, or null while it runs, for error messages. */
  readonly ending: string | null
}

/** The part of the SDK that is needed here: it is loaded only when there are servers. */
interface Wire {
  deserializeMessage(line: string): JSONRPCMessage
  serializeMessage(message: JSONRPCMessage): string
}

export interface ProcessOptions {
  readonly env: Readonly<Record<string, string>>
  /** How long it may take to end after its input has ended, and again after it was asked to. */
  readonly graceMs: number
  onStderr(text: string): void
}

/** The longest line that is taken: beyond it a server is out of its mind, or has no line ends. */
const longestLine = 64 * 1024 * 1024

export function processTransport(
  server: ProcessServer,
  options: ProcessOptions,
  wire: Wire,
): ProcessTransport {
  let child: ChildProcess | null = null
  let ending: string | null = null
  let closed = false
  let closing: Promise<void> | null = null
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
        // Only when nobody holds its output any more has everything been heard.
        started.once('close', () => {
          if (started.pid !== undefined) void endGroup(started.pid, 0)
          transport.onclose?.()
        })
        for (const stream of [started.stdin, started.stdout, started.stderr]) {
          stream.on('error', error => transport.onerror?.(error))
        }
        started.stdout.on(
          'data',
          readLines(line => hear(line)),
        )
        started.stderr.setEncoding('utf8').on('data', (text: string) => options.onStderr(text))
      }),
    send: message =>
      new Promise((resolve, reject) => {
        if (!child?.stdin?.writable) return reject(new Error('the process has ended'))
        child.stdin.write(wire.serializeMessage(message), error => (error ? reject(error) : resolve()))
      }),
    close() {
      closed = true
      if (child?.pid === undefined) return Promise.resolve()
      closing ??= end(child, options.graceMs)
      return closing
    },
  }

  function hear(line: string): void {
    try {
      transport.onmessage?.(wire.deserializeMessage(line))
    } catch (error) {
      // Many servers print a greeting to their output: only what looks like JSON is worth a word.
      if (line.trimStart().startsWith('{')) transport.onerror?.(error as Error)
    }
  }

  function readLines(onLine: (line: string) => void): (chunk: Buffer) => void {
    const decoder = new StringDecoder('utf8')
    let begun: string[] = []
    let length = 0
    return chunk => {
      const [first, ...more] = decoder.write(chunk).split('\n')
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

/** Ends a process and all it has started: by the end of its input, then by asking, then by force. */
async function end(child: ChildProcess, graceMs: number): Promise<void> {
  const exited = new Promise<void>(resolve => {
    if (child.exitCode !== null || child.signalCode !== null) resolve()
    else child.once('exit', () => resolve())
  })
  child.stdin?.end()
  await atMost(graceMs, exited)
  await endGroup(child.pid!, graceMs)
  await exited
  // What is dead holds nothing; what escaped the group must not keep us waiting.
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy()
}
