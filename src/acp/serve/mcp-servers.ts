import type { McpServer as ServerGiven } from '@agentclientprotocol/sdk/unstable'
import { type McpServer, type McpTools, openMcpTools } from '../../agent/mcp/open-mcp-tools.ts'

/** Tools of the MCP servers that a client gives with a session; null without any. A server that cannot be started is told
 *  of in the log, and the session goes on without it. */
export async function openGivenServers(
  given: readonly ServerGiven[],
  cwd: string,
  { log, signal }: { log(line: string): void; readonly signal: AbortSignal },
): Promise<McpTools | null> {
  const servers: Record<string, McpServer> = {}
  for (const one of given) {
    const server = serverOf(one, cwd)
    if (server) servers[one.name] = server
    else
      log(
        `the MCP server ${one.name} is of a kind that was not offered (${'type' in one ? one.type : 'unknown'})`,
      )
  }
  if (Object.keys(servers).length === 0) return null
  // Given up, it has ended what it had started.
  return openMcpTools(servers, { signal, onProblem: ({ error }) => log(error.message) }).catch(() => null)
}

function serverOf(given: ServerGiven, cwd: string): McpServer | null {
  if ('command' in given) {
    const { command, args, env } = given
    return { command, args, env: Object.fromEntries(env.map(({ name, value }) => [name, value])), cwd }
  }
  if (given.type !== 'http') return null
  return {
    url: given.url,
    headers: Object.fromEntries(given.headers.map(({ name, value }) => [name, value])),
  }
}
