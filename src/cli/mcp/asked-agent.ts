import { isMcpCommand } from '../../acp/seat/recall-server.ts'
import type { SeatStore } from '../../acp/seat/seat-prompt.ts'
import type { Agent } from '../../agent/agent.ts'
import { allowTools } from '../../agent/approval/approval.ts'
import type { AgentSettings, ForeignAgentSettings, OwnAgentSettings } from '../../config/agent-settings.ts'
import type { Config } from '../../config/config.ts'
import { similarWords } from '../../core/similar-words.ts'
import type { McpAgent } from '../../mcp/tools/endpoint-options.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { askedVariable } from '../model/asked-variable.ts'
import { openNamedModel } from '../model/choose-model.ts'
import {
  configuredTools,
  foreignFileOf,
  sayNote,
  type ToolFilter,
  type ToolStore,
} from '../model/configured-tools.ts'
import { agentSettings } from '../model/model-setup.ts'

/** The ports of a store that an agent needs, ours or another program's. */
type AskedStore = ToolStore & SeatStore

/** The agent behind `ask`. */
export interface AskedAgent extends AsyncDisposable {
  readonly agent: McpAgent
  /** Stops its tasks, its process and its tool servers. */
  close(): Promise<void>
}

/** The agent with this name in the section `agents`. It starts with its first task. Throws UsageError if it
 *  does not exist, or if a project's file names a program. */
export function openAskedAgent(
  name: string,
  config: Config,
  context: CommandContext,
  store: () => Promise<AskedStore>,
): AskedAgent {
  const settings = settingsOf(name, config)
  const foreignFile = foreignFileOf(`agents.${name}`, config, context)
  if ('command' in settings && foreignFile !== null) {
    const hint = 'Move the agent there: a project must not start programs'
    throw new UsageError(
      `${foreignFile} names the program of the agent ${name}, not your own skein.yaml`,
      hint,
    )
  }
  let opening: Promise<OpenedAgent> | undefined

  const close = async () => (await opening?.catch(() => undefined))?.close()
  return {
    agent: {
      name,
      ...(settings.description !== null && { description: settings.description }),
      links: { directory: context.cwd, channel: 'mcp' },
      async open() {
        opening ??=
          'command' in settings
            ? openForeign(name, settings, context, await store())
            : openOwn(name, settings, context, config, await store(), foreignFile !== null)
        // A model or a program that is missing may be there the next time.
        opening.catch(() => {
          opening = undefined
        })
        return (await opening).agent
      },
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

function settingsOf(name: string, { agents }: Config): AgentSettings {
  if (Object.hasOwn(agents, name)) return agents[name]!
  const known = Object.keys(agents)
  const [near] = similarWords(name, known)
  if (near !== undefined) throw new UsageError(`no agent ${name}`, `Near: ${near}`)
  const list =
    known.length === 0 ? 'The section agents of skein.yaml has none' : `Agents: ${known.join(', ')}`
  throw new UsageError(`no agent ${name}`, `${list}. See docs/config.md`)
}

interface OpenedAgent {
  readonly agent: Agent
  close(): Promise<void>
}

async function openForeign(
  name: string,
  { command, args, env, cwd }: ForeignAgentSettings,
  context: CommandContext,
  store: AskedStore,
): Promise<OpenedAgent> {
  const { createHost } = await import('../../acp/host/host.ts')
  const directory = cwd ?? context.cwd
  const agent = createHost({
    store,
    name,
    directory,
    command: { command, args, cwd: directory, env: { ...env, [askedVariable]: '1' } },
  })
  return { agent, close: () => agent.close({ withinMs: 0 }) }
}

async function openOwn(
  name: string,
  settings: OwnAgentSettings,
  context: CommandContext,
  config: Config,
  store: AskedStore,
  onlyReads: boolean,
): Promise<OpenedAgent> {
  const model = await openNamedModel(settings.model, context, config)
  const servers = Object.fromEntries(
    Object.entries(config.mcp).filter(([server, one]) => isWanted(server, settings) && !isOurEndpoint(one)),
  )
  const tools = { ...config.tools, recall: settings.tools.includes('recall') }
  const opened = await configuredTools({ ...config, mcp: servers, tools, subagents: {} }, context)
  const offered = await opened.on(store, model)
  const mayRun = filterOf(settings, Object.keys(servers))
  const given = Object.fromEntries(
    Object.entries(offered).filter(
      ([tool, one]) => mayRun(tool, one) && (!onlyReads || one.readOnly === true),
    ),
  )
  for (const wanted of settings.tools)
    if (!Object.keys(given).some(tool => isNamed(wanted, tool)))
      sayNote(
        `the agent ${name} does not get ${wanted}: there is no such tool, or it is not allowed`,
        context,
      )
  const { createAgent } = await import('../../agent/agent.ts')
  const agent = createAgent({
    model,
    store,
    tools: given,
    // Naming a tool in the entry allows it.
    approve: allowTools(Object.keys(given)),
    ...agentSettings(config, model.id),
    ...(settings.system !== null && { system: settings.system }),
  })
  const close = async () => {
    await agent.close({ withinMs: 0 })
    await opened.close()
  }
  return { agent, close }
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

function filterOf({ tools }: OwnAgentSettings, servers: readonly string[]): ToolFilter {
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
