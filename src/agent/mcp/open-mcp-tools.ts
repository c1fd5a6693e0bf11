import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { CallToolResult, ContentBlock, Tool } from '@modelcontextprotocol/client'
import { checkObject } from '../../core/check.ts'
import { isPlainObject, type Json, type JsonObject } from '../../core/json.ts'
import type { AgentTool, ToolOutcome, Tools } from '../tools/tool.ts'
import { jsonOf } from '../tools/tool-result.ts'
import { type McpConnection, mcpConnection } from './mcp-connection.ts'
import type { McpServer } from './mcp-transport.ts'

export type { McpHttpServer, McpProcessServer, McpServer } from './mcp-transport.ts'

/** A server that could not be used, or was lost. `error.message` also names it. */
export interface McpProblem {
  /** The name of the server in the first argument of `openMcpTools`. */
  readonly server: string
  /** Why it could not be started or reached, or how it ended. */
  readonly error: Error
}

/** Limits and reports of `openMcpTools`. */
export interface McpOptions {
  /** How long a server may take until its tools are known. Default: 30 seconds. */
  readonly startMs?: number
  /** How long a call may take without progress. Default: 10 minutes. */
  readonly callMs?: number
  /** How long a process may take to end after SIGTERM. Default: 2 seconds. */
  readonly graceMs?: number
  /** Called with every problem as it comes, including those at the start. */
  readonly onProblem?: (problem: McpProblem) => void
  /** Stops opening, and ends the servers that have started. */
  readonly signal?: AbortSignal
}

/** The tools of some MCP servers. */
export interface McpTools {
  /** By the names for the model: `<server>_<tool>`. */
  readonly tools: Tools
  /** The problems so far. The list grows if a server is lost later. */
  readonly problems: readonly McpProblem[]
  /** Ends the connections and the server processes. Running calls fail. */
  close(): Promise<void>
}

/** Starts MCP servers in parallel and returns their tools for agents. A server that fails is a problem, not
 *  an error: the others are available. If a server dies later, its running calls fail, and the next call
 *  starts it again. Throws only the signal's reason. The caller closes it. */
export async function openMcpTools(
  servers: Readonly<Record<string, McpServer>>,
  options: McpOptions = {},
): Promise<McpTools> {
  checkObject(servers, 'servers', 'an object of servers by name')
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
  // In the order of the configuration, not of readiness: providers cache prompts with the same beginning.
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
    readOnly: annotations?.readOnlyHint === true,
    // The server checks its own schema, and reports errors better than we could.
    check: input => (isPlainObject(input) ? null : 'the input must be an object'),
    run: async (input, { signal }) => mcpOutcome(await connection.call(tool, input as JsonObject, signal)),
  }
}

/** The longest tool name that every provider accepts. */
const longest = 64

/** The names of MCP tools for the model: `<server>_<tool>`, with `_` for characters that providers refuse. A
 *  name depends on the configured servers and on the tools of its own server, not on whether another server
 *  has started, so that a stored call means the same tool later. Equal and too long names get a few
 *  characters of a hash. */
export function nameTools(
  servers: readonly string[],
  toolsOf: (server: string) => readonly string[],
): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const taken = new Set<string>()
  return new Map(
    servers.map(server => {
      const prefix = prefixOf(server, servers)
      const tools = [...new Set(toolsOf(server))]
      const names = new Map<string, string>()
      // Tools that need no change get their name first.
      for (const tool of tools.toSorted((a, b) => Number(safe(a) !== a) - Number(safe(b) !== b))) {
        const wanted = `${prefix}_${safe(tool)}`
        const name =
          wanted.length <= longest && !taken.has(wanted) ? wanted : marked(wanted, `${server}\0${tool}`)
        taken.add(name)
        names.set(tool, name)
      }
      return [server, names]
    }),
  )
}

/** The prefix of a server; with a hash if the tools of another server could begin with the same prefix. */
function prefixOf(server: string, servers: readonly string[]): string {
  const prefix = safe(server)
  const doubtful = servers.some(other => {
    if (other === server) return false
    const theirs = safe(other)
    return theirs === prefix ? server !== prefix : prefix.startsWith(`${theirs}_`)
  })
  return doubtful ? marked(prefix, server) : prefix
}

function safe(text: string): string {
  return text.replaceAll(/[^a-zA-Z0-9_-]/g, '_')
}

function marked(text: string, whole: string): string {
  const mark = createHash('sha256').update(whole).digest('hex').slice(0, 8)
  return `${text.slice(0, longest - mark.length - 1)}_${mark}`
}

/** The outcome of an MCP tool. Text alone becomes a string, structured content its JSON (with the `text`, if
 *  that differs), and content with images, sounds or files a list of texts and media, which `models/`
 *  converts for the provider. */
function mcpOutcome(result: CallToolResult): ToolOutcome {
  const output = outputOf(result)
  return result.isError === true ? { output, isError: true } : { output }
}

function outputOf({ content, structuredContent: structured }: CallToolResult): Json {
  const parts = content.map(partOf)
  const texts = parts.flatMap(part => (part.type === 'text' ? [part.text as string] : []))
  const text = texts.join('\n')
  const isRepeated = structured !== undefined && isDeepStrictEqual(parsed(text), structured)
  if (texts.length < parts.length) {
    const more =
      structured === undefined || isRepeated ? [] : [{ type: 'text', text: JSON.stringify(structured) }]
    return [...parts, ...more]
  }
  if (structured === undefined) return text
  return jsonOf(text.trim() === '' || isRepeated ? structured : { text, structuredContent: structured })
}

function partOf(block: ContentBlock): JsonObject {
  switch (block.type) {
    case 'text':
    case 'image':
    case 'audio':
      return jsonOf(block) as JsonObject
    case 'resource_link':
      return { type: 'text', text: `${block.title ?? block.name}: ${block.uri}` }
    case 'resource': {
      const { uri, mimeType } = block.resource
      if ('text' in block.resource) return { type: 'text', text: block.resource.text, uri }
      return {
        type: 'file',
        mime: mimeType ?? 'application/octet-stream',
        data: block.resource.blob,
        name: uri,
      }
    }
    default:
      return { type: 'text', text: JSON.stringify(block satisfies never) }
  }
}

/** The specification asks servers to repeat structured content as text, for older clients. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // text that is not JSON does not repeat the structured content
  }
}
