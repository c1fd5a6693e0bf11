import { isMcpCommand } from '../../acp/seat/recall-server.ts'
import type { OwnAgentSettings } from '../../config/agent-settings.ts'
import type { Config } from '../../config/config.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { type ConfiguredTools, configuredTools, sayNote } from '../model/configured-tools.ts'
import type { NamedAgent } from './find-agent.ts'

/** An agent of ours with a name. */
export type NamedOwnAgent = Pick<NamedAgent, 'name' | 'from'> & { readonly settings: OwnAgentSettings }

/** The tools that an agent of ours may use without asking: those that its entry names. Of a project's entry,
 *  only those that read. Starts the servers of these tools. */
export async function openOwnTools(
  { name, settings, from }: NamedOwnAgent,
  config: Config,
  context: CommandContext,
): Promise<ConfiguredTools> {
  const servers = Object.fromEntries(
    Object.entries(config.mcp).filter(([server, one]) => isWanted(server, settings) && !isOurEndpoint(one)),
  )
  const tools = { ...config.tools, recall: settings.tools.includes('recall') }
  const opened = await configuredTools({ ...config, mcp: servers, tools, subagents: {} }, context)
  const mayRun = filterOf(settings, Object.keys(servers))
  return {
    ...opened,
    on: async (store, model, filter = () => true) => {
      const offered = await opened.on(store, model, filter)
      const given = Object.fromEntries(
        Object.entries(offered).filter(
          ([tool, one]) => mayRun(tool) && (from !== 'project' || one.readOnly === true),
        ),
      )
      for (const wanted of settings.tools)
        if (!Object.keys(given).some(tool => isNamed(wanted, tool)))
          sayNote(
            `the agent ${name} does not get ${wanted}: there is no such tool, or it is not allowed`,
            context,
          )
      return given
    },
  }
}

const recallNames = ['search_conversations', 'read_conversation']

/** Whether a name of `agents.<name>.tools` means this tool: its own name, or that of its server. */
function isNamed(wanted: string, tool: string): boolean {
  if (wanted === 'recall') return recallNames.includes(tool)
  return tool === wanted || tool.startsWith(`${prefixOf(wanted)}_`)
}

function isWanted(server: string, { tools }: OwnAgentSettings): boolean {
  return tools.some(wanted => wanted === server || wanted.startsWith(`${prefixOf(server)}_`))
}

function filterOf({ tools }: OwnAgentSettings, servers: readonly string[]): (name: string) => boolean {
  return name =>
    tools.some(
      wanted => isNamed(wanted, name) && (wanted === name || wanted === 'recall' || servers.includes(wanted)),
    )
}

/** The beginning of the names of a server's tools. */
function prefixOf(server: string): string {
  return server.replaceAll(/[^a-zA-Z0-9_-]/g, '_')
}

/** Whether an MCP server of the configuration is `skein mcp`: the agent behind `ask` must not get it. */
function isOurEndpoint(server: Config['mcp'][string]): boolean {
  if ('url' in server)
    return /\/mcp\/?$/.test(new URL(server.url).pathname) && /skein|:4717$/i.test(new URL(server.url).host)
  return isMcpCommand([server.command, ...server.args])
}
