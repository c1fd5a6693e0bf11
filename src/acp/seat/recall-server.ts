import { basename } from 'node:path'
import type { ConversationId } from '../../core/ids.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { AgentCommand } from '../process/agent-process.ts'
import { isObject } from '../wire/is-object.ts'

/** The command of `skein mcp` on the store, without a conversation. */
export interface RecallCommand extends Pick<AgentCommand, 'command' | 'args'> {
  /** Its variables. All users of a machine can read the arguments of a process, but not its environment. */
  readonly env?: Readonly<Record<string, string>>
}

/** The name of the server in the agent's session. */
export const recallName = 'skein_recall'

/** The parameters of a session, with an MCP server that reads this conversation after the client's own ones.
 *  Null if the client gives a server of ours already. */
export function withRecall(
  params: JsonObject,
  { command, args, env = {} }: RecallCommand,
  id: ConversationId,
): JsonObject | null {
  const given: readonly Json[] = Array.isArray(params.mcpServers) ? params.mcpServers : []
  if (given.some(isOurServer)) return null
  const variables = Object.entries(env).map(([name, value]) => ({ name, value }))
  const server = { name: recallName, command, args: [...args, '--conversation', id], env: variables }
  return { ...params, mcpServers: [...given, server] }
}

function isOurServer(server: Json): boolean {
  if (!isObject(server)) return false
  const args = Array.isArray(server.args) ? server.args : []
  return server.name === recallName || isMcpCommand([server.command, ...args].map(String))
}

/** Whether the words of a command are those of `skein mcp`. */
export function isMcpCommand(words: readonly string[]): boolean {
  const at = words.indexOf('mcp')
  return at > 0 && words.slice(0, at).some(word => /skein/i.test(basename(word)))
}
