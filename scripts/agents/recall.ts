import { questionOf } from './model.ts'
import { findName, secret, serverName } from './recall-call.ts'
import { notOffered } from './restart.ts'
import type { Cell } from './seen-by.ts'
import { type AgentWorld, quiet } from './world.ts'

/** `skein mcp` in a session of the agent: does its model find the words that another agent was told? */
export interface RecallCells {
  readonly mcp: Cell
}

export async function recall(world: AgentWorld, other: AgentWorld): Promise<RecallCells> {
  await told(other)
  const client = await world.start()
  const server = { name: serverName, command: process.execPath, args: [world.skein, 'mcp'], env: [] }
  const env = [{ name: 'SKEIN_DB', value: world.store }]
  const sessionId = await client.newSession({ mcpServers: [{ ...server, env }] })
  // Agents start MCP servers in the background.
  await quiet(client, 3_000)
  await client.prompt(sessionId, `${questionOf(findName)} Which launch word did I tell another agent?`)
  await quiet(client)
  const wasFound = client.thread(sessionId).times(`It was ${secret}.`) === 1
  const hasTool = client.thread(sessionId).times('I have no such tool.') === 0
  await client.kill9()
  return { mcp: wasFound ? 'yes' : hasTool ? 'no' : notOffered }
}

/** Another agent is told the words, behind the proxy, in the same directory. */
async function told(other: AgentWorld): Promise<void> {
  const client = await other.start()
  const sessionId = await client.newSession()
  await client.prompt(sessionId, `${questionOf('told')} Remember the launch word: ${secret}.`)
  await quiet(client)
  await client.kill9()
}
