import type { CallToolResult, Client, Tool } from '@modelcontextprotocol/client'
import type { JsonObject } from '../../core/json.ts'
import { unlessAborted } from '../../core/wait.ts'
import { withoutSecrets } from '../../system/secrets.ts'
import { version } from '../../system/version.ts'
import { type McpServer, type McpWire, mcpWire } from './mcp-transport.ts'

export interface McpLimits {
  /** How long a server may take until its tools are known. */
  readonly startMs: number
  /** How long a call may take. Progress reports of the server restart the time. */
  readonly callMs: number
  /** How long a process may take to end after SIGTERM, before SIGKILL. */
  readonly graceMs: number
}

/** One server. It starts when it is first needed, and again with the first call after it has died. */
export interface McpConnection {
  list(): Promise<readonly Tool[]>
  /** Throws the signal's reason if it is aborted; the server is notified. Other errors name the server. */
  call(tool: Tool, input: JsonObject, signal: AbortSignal): Promise<CallToolResult>
  /** Ends the server, also while it starts. */
  close(): Promise<void>
}

interface OpenConnection extends McpWire {
  readonly client: Client
}

/** `onDeath` is called once for each connection that breaks unexpectedly. */
export function mcpConnection(
  name: string,
  server: McpServer,
  limits: McpLimits,
  onDeath: (error: Error) => void,
): McpConnection {
  const ending = new AbortController()
  const open = new Set<OpenConnection>()
  const endings = new Set<Promise<unknown>>()
  let current: Promise<OpenConnection> | null = null

  function connection(): Promise<OpenConnection> {
    current ??= connect().catch(error => {
      current = null
      throw error
    })
    return current
  }

  async function connect(): Promise<OpenConnection> {
    const limit = AbortSignal.any([ending.signal, AbortSignal.timeout(limits.startMs)])
    try {
      return await tryEra('legacy', limit)
    } catch (error) {
      if (limit.aborted || !speaksOnlyNewer(error)) throw failed('did not start', error)
    }
    return tryEra('auto', limit).catch(error => Promise.reject(failed('did not start', error)))
  }

  async function tryEra(mode: 'legacy' | 'auto', limit: AbortSignal): Promise<OpenConnection> {
    const { Client } = await import('@modelcontextprotocol/client')
    const wire = await mcpWire(server, limits.graceMs)
    const client = new Client({ name: 'skein', version: version() }, { versionNegotiation: { mode } })
    const made: OpenConnection = { ...wire, client }
    open.add(made)
    // Errors are reported by the call that fails, and by onclose.
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

  /** A broken connection is not used again; the next call opens a new one. */
  function drop(broken: OpenConnection, error: unknown): void {
    if (!open.has(broken) || ending.signal.aborted) return
    current = null
    void end(broken)
    onDeath(failed('was lost', withPrinted(error, broken)))
  }

  function end(made: OpenConnection): Promise<unknown> {
    open.delete(made)
    // A client does not close a transport that has not started.
    const ended = Promise.allSettled([made.client.close(), made.transport.close()])
    endings.add(ended)
    return ended.finally(() => endings.delete(ended))
  }

  function reasonOf(): Error {
    return new Error(ending.signal.aborted ? 'it is being closed' : `it took more than ${limits.startMs} ms`)
  }

  /** The error has no cause, because the output of a server may contain secrets of the configuration
   *  (R20). */
  function failed(what: string, error: unknown): Error {
    const reason = withoutSecrets(messageOf(error), secretsOf(server))
    return new Error(`the MCP server ${JSON.stringify(name)} ${what}: ${reason}`)
  }

  return {
    async list() {
      const begun = performance.now()
      const { client } = await connection()
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
      const used = await unlessAborted(connection(), signal)
      // Without the output schema: a result is kept as it is, and not refused for its shape.
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

/** Whether a server has refused the older handshake, which nearly all servers support, only because of its
 *  version. */
function speaksOnlyNewer(error: unknown): boolean {
  return /unsupported.{0,20}protocol.{0,20}version/i.test(messageOf(error))
}

/** Whether the connection is broken, so that the outcome of the call is unknown. An error response, a timeout
 *  and other errors of the client leave the connection usable. */
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

/** The values that the configuration gives to this server only. Short values would match any text. */
function secretsOf(server: McpServer): readonly string[] {
  const given = 'url' in server ? server.headers : server.env
  return Object.values(given ?? {}).filter(value => value.length >= 8)
}

function withPrinted(error: unknown, { ending, printed: heard }: McpWire): Error {
  const how = ending() === null ? '' : ` (${ending()})`
  const printed = heard().trim()
  return new Error(`${messageOf(error)}${how}${printed === '' ? '' : `; it printed: ${printed.slice(-500)}`}`)
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if ('status' in error && typeof error.status === 'number') return `HTTP ${error.status}: ${error.message}`
  // The message of fetch is generic; its cause has the reason.
  return error.cause instanceof Error && !error.message.includes(error.cause.message)
    ? `${error.message} (${error.cause.message})`
    : error.message
}
