import type { Transport } from '@modelcontextprotocol/client'
import { InvalidError } from '../core/errors.ts'
import { type ProcessServer, processTransport } from './mcp-process.ts'

/** A server that is reached over streamable HTTP. */
export interface HttpServer {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Where the tools of an MCP server are: a command to start, or an address. */
export type McpServer = ProcessServer | HttpServer

/** The way to a server. */
export interface Wire {
  readonly transport: Transport
  /** The end of what the server printed to its standard error. */
  heard(): string
  /** How its process ended, or null if it runs or has none. */
  ending(): string | null
}

/** What a client speaks through, and what can be said of the other end. Nothing is started yet. Throws InvalidError, and
 *  TypeError for a url that is none. */
export async function wireTo(server: McpServer, graceMs: number): Promise<Wire> {
  if ('command' in server === 'url' in server) {
    throw new InvalidError('server', 'must have either a command or a url')
  }
  const sdk = await import('@modelcontextprotocol/client')
  if ('url' in server) {
    const requestInit = { headers: { ...server.headers } }
    const transport = new sdk.StreamableHTTPClientTransport(new URL(server.url), { requestInit })
    return { transport, heard: () => '', ending: () => null }
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
    return { transport, heard, ending: () => transport.ending }
  }
  // Windows has no process groups, and its .cmd files need the SDK's way of starting them.
  const place = cwd === undefined ? {} : { cwd }
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...env },
    ...place,
    stderr: 'pipe',
  })
  transport.stderr?.on('data', chunk => onStderr(String(chunk)))
  return { transport, heard, ending: () => null }
}
