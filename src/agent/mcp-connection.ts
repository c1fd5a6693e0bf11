import { readFileSync } from 'node:fs'
import type { CallToolResult, Client, Tool } from '@modelcontextprotocol/client'
import type { JsonObject } from '../core/json.ts'
import { unlessAborted } from '../core/wait.ts'
import { withoutSecrets } from '../system/secrets.ts'
import { type McpServer, type Wire, wireTo } from './mcp-wire.ts'

export interface McpLimits {
  /** How long a server may take until its tools are known. */
  readonly startMs: number
  /** How long a call may take, counted anew whenever the server reports progress. */
  readonly callMs: number
  /** How long a process may take to end when asked to, before it is made to. */
  readonly graceMs: number
}

/** One server. It is started when it is first needed, and again by the first call after it has died. */
export interface McpConnection {
  list(): Promise<readonly Tool[]>
  /** Throws the signal's reason when it is aborted: the server has then been told. Any other error names the server. */
  call(tool: Tool, input: JsonObject, signal: AbortSignal): Promise<CallToolResult>
  /** Ends it, also while it is starting. */
  close(): Promise<void>
}

interface Line extends Wire {
  readonly client: Client
}

/** `onDeath` is told once for each connection that broke without our doing. */
export function mcpConnection(
  name: string,
  server: McpServer,
  limits: McpLimits,
  onDeath: (error: Error) => void,
): McpConnection {
  const ending = new AbortController()
  const open = new Set<Line>()
  const endings = new Set<Promise<unknown>>()
  let current: Promise<Line> | null = null

  function line(): Promise<Line> {
    current ??= connect().catch(error => {
      current = null
      throw error
    })
    return current
  }

  async function connect(): Promise<Line> {
    const limit = AbortSignal.any([ending.signal, AbortSignal.timeout(limits.startMs)])
    try {
      return await tryEra('legacy', limit)
    } catch (error) {
      if (limit.aborted || !speaksOnlyNewer(error)) throw failed('did not start', error)
    }
    return tryEra('auto', limit).catch(error => Promise.reject(failed('did not start', error)))
  }

  async function tryEra(mode: 'legacy' | 'auto', limit: AbortSignal): Promise<Line> {
    const { Client } = await import('@modelcontextprotocol/client')
    const wire = await wireTo(server, limits.graceMs)
    const client = new Client({ name: 'skein', version: ownVersion() }, { versionNegotiation: { mode } })
    const made: Line = { ...wire, client }
    open.add(made)
    // Reported where it matters: by the call that fails, and by onclose.
    client.onerror = () => {}
    try {
      await unlessAborted(client.connect(made.transport, { signal: limit, timeout: limits.startMs }), limit)
    } catch (error) {
      const late = limit.aborted ? withPrinted(reasonOf(), made) : null
      await end(made)
      throw late ?? withPrinted(error, made)
    }
    client.onclose = () => drop(made, new Error('it has ended'))
    return made
  }

  /** A broken line is not used again; the next call makes a new one. */
  function drop(broken: Line, error: unknown): void {
    if (!open.has(broken) || ending.signal.aborted) return
    current = null
    void end(broken)
    onDeath(failed('was lost', withPrinted(error, broken)))
  }

  function end(made: Line): Promise<unknown> {
    open.delete(made)
    // A transport that never started is no concern of the client, and the other way round.
    const ended = Promise.allSettled([made.client.close(), made.transport.close()])
    endings.add(ended)
    return ended.finally(() => endings.delete(ended))
  }

  function reasonOf(): Error {
    return new Error(ending.signal.aborted ? 'it is being closed' : `it took more than ${limits.startMs} ms`)
  }

  /** Without a cause: a server may have printed what the configuration gave it to keep (R20). */
  function failed(what: string, error: unknown): Error {
    const reason = withoutSecrets(messageOf(error), secretsOf(server))
    return new Error(`the MCP server ${JSON.stringify(name)} ${what}: ${reason}`)
  }

  return {
    async list() {
      const begun = performance.now()
      const { client } = await line()
      if (client.getServerCapabilities()?.tools === undefined) return []
      const left = Math.max(1, Math.ceil(limits.startMs - (performance.now() - begun)))
      const limit = AbortSignal.any([ending.signal, AbortSignal.timeout(left)])
      try {
        const { tools } = await unlessAborted(client.listTools(undefined, { signal: limit }), limit)
        return tools
      } catch (error) {
        throw failed('did not list its tools', limit.aborted ? reasonOf() : error)
      }
    },

    async call(tool, input, signal) {
      signal.throwIfAborted()
      if (ending.signal.aborted) throw new Error(`the MCP server ${JSON.stringify(name)} has been closed`)
      const used = await unlessAborted(line(), signal)
      // Without its output schema: what a server sends is kept as it came, and not refused for its shape.
      const { outputSchema: _, ...toolDefinition } = tool
      try {
        return (await used.client.callTool(
          { name: tool.name, arguments: input },
          {
            signal,
            timeout: limits.callMs,
            resetTimeoutOnProgress: true,
            onprogress: () => {},
            toolDefinition,
          },
        )) as CallToolResult
      } catch (error) {
        signal.throwIfAborted()
        if (!(await isBroken(error))) throw failed(`failed in ${JSON.stringify(tool.name)}`, error)
        const printed = withPrinted(error, used)
        drop(used, error)
        throw failed(
          `was lost during ${JSON.stringify(tool.name)}, so whether it was done is not known`,
          printed,
        )
      }
    },

    async close() {
      ending.abort(new Error('closed'))
      for (const one of open) void end(one)
      await current?.catch(() => {})
      await Promise.all(endings)
    },
  }
}

/** Whether a server has refused the older handshake, which nearly all understand, for its age alone. */
function speaksOnlyNewer(error: unknown): boolean {
  return /unsupported.{0,20}protocol.{0,20}version/i.test(messageOf(error))
}

/** Whether the way to the server is broken: then nothing is known of the call. An error that it answered, a time limit
 *  and whatever else the client found wrong say nothing against the way. */
async function isBroken(error: unknown): Promise<boolean> {
  const { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } = await import('@modelcontextprotocol/client')
  if (error instanceof ProtocolError) return false
  if (!(error instanceof SdkError) || error instanceof SdkHttpError) return true
  const broken: readonly string[] = [
    SdkErrorCode.ConnectionClosed,
    SdkErrorCode.NotConnected,
    SdkErrorCode.SendFailed,
  ]
  return broken.includes(error.code)
}

/** What the configuration gave to the server alone. Short values would be found in any text. */
function secretsOf(server: McpServer): readonly string[] {
  const given = 'url' in server ? server.headers : server.env
  return Object.values(given ?? {}).filter(value => value.length >= 8)
}

function withPrinted(error: unknown, { ending, heard }: Wire): Error {
  const how = ending() === null ? '' : ` (${ending()})`
  const printed = heard().trim()
  return new Error(`${messageOf(error)}${how}${printed === '' ? '' : `; it printed: ${printed.slice(-500)}`}`)
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if ('status' in error && typeof error.status === 'number') return `HTTP ${error.status}: ${error.message}`
  // fetch says only that it failed; the reason is one deeper.
  return error.cause instanceof Error && !error.message.includes(error.cause.message)
    ? `${error.message} (${error.cause.message})`
    : error.message
}

/** The version of the package: its file lies two folders up from `src/agent/` and from `dist/agent/`. */
function ownVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
