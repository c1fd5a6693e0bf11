import { dirname } from 'node:path'
import type { McpServer, McpTools } from '../../agent/mcp/open-mcp-tools.ts'
import type { Config } from '../../config/config.ts'
import { configFolder } from '../../config/folder.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { noteLine } from '../output/print.ts'

/** The tools of the configured MCP servers, and a function that stops the servers. */
export type ConfiguredTools = Pick<McpTools, 'tools' | 'close'>

const none: ConfiguredTools = { tools: {}, close: async () => undefined }

/** The servers start once per configuration, even if the model changes. */
const opened = new WeakMap<Config, Promise<ConfiguredTools>>()

/** Starts the servers. A failed server is reported; the others work. */
export function configuredTools(config: Config, context: CommandContext): Promise<ConfiguredTools> {
  const before = opened.get(config)
  if (before) return before
  const opening = openTools(config, context)
  opened.set(config, opening)
  return opening
}

async function openTools(config: Config, context: CommandContext): Promise<ConfiguredTools> {
  const servers = serversOf(config, context)
  if (Object.keys(servers).length === 0) return none
  const { openMcpTools } = await import('../../agent/mcp/open-mcp-tools.ts')
  return openMcpTools(servers, {
    signal: context.signal,
    onProblem: ({ error }) => say(error.message, context),
  })
}

/** Starts only servers from the user's own file: a prompt in a cloned directory must not start programs that
 *  the directory names. */
function serversOf(config: Config, context: CommandContext): Readonly<Record<string, McpServer>> {
  const own = configFolder(context.env)
  const servers: Record<string, McpServer> = {}
  for (const [name, server] of Object.entries(config.mcp)) {
    const foreign = filesOf(`mcp.${name}`, config).find(file => dirname(file) !== own)
    if (foreign === undefined) servers[name] = 'url' in server ? server : program(server)
    else
      say(
        `${foreign} names the MCP server ${name}, which is started only from your own ${own}/skein.yaml`,
        context,
      )
  }
  return servers
}

function program({
  command,
  args,
  env,
  cwd,
}: Extract<Config['mcp'][string], { command: string }>): McpServer {
  return { command, args, env, ...(cwd === null ? {} : { cwd }) }
}

/** The files that define a part of the configuration. */
function filesOf(path: string, { sources }: Config): readonly string[] {
  return Object.entries(sources).flatMap(([key, source]) =>
    (key === path || key.startsWith(`${path}.`)) && source.kind === 'file' ? [source.file] : [],
  )
}

function say(note: string, { err, quiet, json }: CommandContext): void {
  if (!quiet && !json) err.line(noteLine(note, err))
}
