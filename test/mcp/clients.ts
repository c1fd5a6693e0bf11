import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { commandLine, type Home } from '../cli/skein.ts'

/** The two generations of the protocol. */
export const generations = ['2025-11-25', '2026-07-28'] as const
export type Generation = (typeof generations)[number]

/** The result of a call. */
export interface Called {
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test knows the shape of what it asked for.
  readonly data: any
  readonly isError: boolean
}

/** A real client of the protocol. */
export interface ConnectedClient extends AsyncDisposable {
  readonly client: Client
  call(name: string, input?: Record<string, unknown>, options?: CallOptions): Promise<Called>
}

export interface CallOptions {
  readonly signal?: AbortSignal
  readonly onprogress?: (progress: { readonly message?: string | undefined }) => void
}

function clientOf(generation: Generation): Client {
  const mode: NonNullable<ClientOptions['versionNegotiation']>['mode'] =
    generation === '2025-11-25' ? 'legacy' : { pin: generation }
  return new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
}

/** Connects to an address. */
export async function connectHttp(
  url: string,
  token: string,
  generation: Generation = '2025-11-25',
): Promise<ConnectedClient> {
  const client = clientOf(generation)
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }))
  return connected(client)
}

/** A client of a process. */
export interface ProcessClient extends ConnectedClient {
  readonly pid: number
  /** What the process has printed to stderr. */
  printed(): string
}

/** Starts `skein mcp` as an agent would. */
export async function connectProcess(
  here: Home,
  args: readonly string[] = [],
  options: { readonly generation?: Generation; readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<ProcessClient> {
  const [command, argv] = commandLine(['mcp', ...args])
  return connectCommand(command, argv, {
    cwd: options.cwd ?? here.cwd,
    env: { ...here.env, ...options.env },
    generation: options.generation ?? '2025-11-25',
  })
}

/** Starts any command of an MCP server. */
export async function connectCommand(
  command: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly generation: Generation },
): Promise<ProcessClient> {
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    cwd: options.cwd,
    env: options.env as Record<string, string>,
    stderr: 'pipe',
  })
  let printed = ''
  transport.stderr?.on('data', chunk => {
    printed += String(chunk)
  })
  const client = clientOf(options.generation)
  await client.connect(transport)
  return { ...connected(client), pid: transport.pid!, printed: () => printed }
}

function connected(client: Client): ConnectedClient {
  return {
    client,
    async call(name, input = {}, options = {}) {
      const result = await client.callTool({ name, arguments: input }, options)
      const text = result.content.map(block => (block.type === 'text' ? block.text : '')).join('\n')
      return { text, data: result.structuredContent, isError: result.isError === true }
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}
