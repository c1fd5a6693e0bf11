import type { Tool } from '@modelcontextprotocol/client'
import type { Json, JsonObject } from '../core/json.ts'
import { type McpConnection, mcpConnection } from './mcp-connection.ts'
import { nameTools } from './mcp-names.ts'
import { outcomeOf } from './mcp-result.ts'
import type { McpServer } from './mcp-wire.ts'
import { type AgentTool, jsonOf, type Tools } from './tool.ts'

export type { ProcessServer } from './mcp-process.ts'
export type { HttpServer, McpServer } from './mcp-wire.ts'

/** A server that could not be used, or was lost. `error.message` names it too. */
export interface McpProblem {
  readonly server: string
  readonly error: Error
}

export interface McpOptions {
  /** How long a server may take until its tools are known; 30 seconds unless said otherwise. */
  readonly startMs?: number
  /** How long a call may take without a sign of progress; 10 minutes unless said otherwise. */
  readonly callMs?: number
  /** How long a process may take to end when asked to; 2 seconds unless said otherwise. */
  readonly graceMs?: number
  /** Told of every problem as it comes, those at the start included. */
  readonly onProblem?: (problem: McpProblem) => void
  /** Gives up opening. What had started by then is ended. */
  readonly signal?: AbortSignal
}

/** The tools of some MCP servers. */
export interface McpTools {
  /** By the names that models see: `<server>_<tool>`. */
  readonly tools: Tools
  /** What went wrong so far. It grows when a server is lost later. */
  readonly problems: readonly McpProblem[]
  /** Ends the connections, and every process that was started. Calls that are running fail. */
  close(): Promise<void>
}

/** Starts MCP servers side by side and gives their tools to agents. A server that fails is a problem, never an error:
 *  the others are there all the same. One that dies later makes its calls fail, and is started again by the next.
 *  Throws only the signal's reason. Whoever opens it closes it. */
export async function openMcpTools(
  servers: Readonly<Record<string, McpServer>>,
  options: McpOptions = {},
): Promise<McpTools> {
  const { startMs = 30_000, callMs = 600_000, graceMs = 2_000, signal } = options
  const problems: McpProblem[] = []
  const report = (server: string, error: Error) => {
    problems.push({ server, error })
    options.onProblem?.({ server, error })
  }
  const connections = new Map(
    Object.entries(servers).map(([name, server]) => [
      name,
      mcpConnection(name, server, { startMs, callMs, graceMs }, error => report(name, error)),
    ]),
  )
  const close = async () => {
    await Promise.all([...connections.values()].map(connection => connection.close()))
  }
  const giveUp = () => void close()
  signal?.addEventListener('abort', giveUp, { once: true })
  const listed = new Map<string, readonly Tool[]>()
  try {
    signal?.throwIfAborted()
    await Promise.all(
      [...connections].map(async ([name, connection]) => {
        try {
          listed.set(name, await connection.list())
        } catch (error) {
          await connection.close()
          if (!signal?.aborted) report(name, error as Error)
        }
      }),
    )
    signal?.throwIfAborted()
    return { tools: toolsOf(connections, listed), problems, close }
  } catch (error) {
    await close()
    throw error
  } finally {
    signal?.removeEventListener('abort', giveUp)
  }
}

function toolsOf(
  connections: ReadonlyMap<string, McpConnection>,
  listed: ReadonlyMap<string, readonly Tool[]>,
): Tools {
  const names = nameTools([...connections.keys()], server =>
    (listed.get(server) ?? []).map(({ name }) => name),
  )
  const tools: [string, AgentTool][] = []
  // In the order of the configuration, whoever was ready first: providers cache prompts that begin the same.
  for (const [server, connection] of connections) {
    for (const tool of listed.get(server) ?? []) {
      tools.push([names.get(server)!.get(tool.name)!, agentTool(tool, connection)])
    }
  }
  return Object.fromEntries(tools)
}

function agentTool(tool: Tool, connection: McpConnection): AgentTool {
  const { description, title, annotations, inputSchema } = tool
  const { $schema: _, ...schema } = jsonOf(inputSchema) as JsonObject
  return {
    description: description ?? title ?? annotations?.title ?? tool.name,
    // Some providers refuse an object without a list of its properties.
    schema: { properties: {}, ...schema },
    repeatable: annotations?.readOnlyHint === true || annotations?.idempotentHint === true,
    // The schema is the server's own: it says what is wrong better than we could.
    check: input => (isObject(input) ? null : 'the input must be an object'),
    run: async (input, { signal }) => outcomeOf(await connection.call(tool, input as JsonObject, signal)),
  }
}

function isObject(input: Json): input is JsonObject {
  return typeof input === 'object' && input !== null && !Array.isArray(input)
}
