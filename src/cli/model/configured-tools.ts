import type { McpServer, McpTools } from '../../agent/mcp/open-mcp-tools.ts'
import type { AgentStore } from '../../agent/options.ts'
import type { Tools } from '../../agent/tools/tool.ts'
import type { Config } from '../../config/config.ts'
import { shownPath } from '../../config/read-config.ts'
import { errorText } from '../../core/error-text.ts'
import type { Model } from '../../core/model.ts'
import type { Lister } from '../../core/ports.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { noteLine } from '../output/print.ts'
import { projectDirectories } from '../target/scope.ts'
import { mayStart, projectFileOf } from '../trust/project-programs.ts'
import { openNamedModel } from './choose-model.ts'

/** The ports of a store that tools need. */
export type ToolStore = AgentStore & Pick<Lister, 'listDirectories'>

/** The tools of the configuration, and a function that stops the servers. */
export interface ConfiguredTools extends Pick<McpTools, 'tools' | 'close'> {
  /** The tools of the servers, and those of the store and the model: earlier conversations, subagents.
   *  `mayRun` leaves out tools, also of subagents. Default: all may run. `recall` replaces the tools that
   *  search the earlier conversations of the project. */
  on(store: ToolStore | null, model: Model, mayRun?: ToolFilter, recall?: Tools): Promise<Tools>
}

/** Whether a tool may run. */
export type ToolFilter = (name: string, tool: Tools[string]) => boolean

const none: Pick<McpTools, 'tools' | 'close'> = { tools: {}, close: async () => undefined }

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
  const { tools, close } = await openServers(config, context)
  return {
    tools,
    close,
    on: async (store, model, mayRun = () => true, recall) => {
      const found = recall ?? (await recallIn(config, context, store))
      const shared = { ...only(tools, mayRun), ...found }
      return only(await ownTools(config, context, { store, model, shared }), mayRun)
    },
  }
}

function only(tools: Tools, mayRun: ToolFilter): Tools {
  return Object.fromEntries(Object.entries(tools).filter(([name, tool]) => mayRun(name, tool)))
}

async function openServers(config: Config, context: CommandContext): Promise<typeof none> {
  const servers = serversOf(config, context)
  if (Object.keys(servers).length === 0) return none
  const { openMcpTools } = await import('../../agent/mcp/open-mcp-tools.ts')
  return openMcpTools(servers, {
    signal: context.signal,
    onProblem: ({ error }) => sayNote(error.message, context),
  })
}

/** The servers of the user's own file, and those of the project's file if the person trusts it: a prompt in a
 *  cloned directory must not start programs that the directory names. */
function serversOf(config: Config, context: CommandContext): Readonly<Record<string, McpServer>> {
  const servers: Record<string, McpServer> = {}
  const left: string[] = []
  for (const [name, server] of Object.entries(config.mcp)) {
    if (mayStart(`mcp.${name}`, config, context)) servers[name] = 'url' in server ? server : program(server)
    else left.push(name)
  }
  const file = left.length === 0 ? null : projectFileOf(`mcp.${left[0]}`, config, context)
  if (file !== null)
    sayNote(
      `${shownPath(file, context.cwd, context.env)} names MCP servers that are not started (${left.join(', ')}). To trust it: skein config trust`,
      context,
    )
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

/** Prints a note about a tool, unless the output is for programs. */
export function sayNote(note: string, { err, quiet, json }: CommandContext): void {
  if (!quiet && !json) err.line(noteLine(note, err))
}

/** The shared tools, and the subagents of the configuration, which may use them. A subagent whose model
 *  cannot be opened is reported and left out. */
async function ownTools(
  config: Config,
  context: CommandContext,
  {
    store,
    model,
    shared,
  }: { readonly store: ToolStore | null; readonly model: Model; readonly shared: Tools },
): Promise<Tools> {
  const subagents: Record<string, Tools[string]> = {}
  for (const [name, { description, model: named, system }] of Object.entries(config.subagents)) {
    try {
      const { subagent } = await import('../../agent/subagent.ts')
      subagents[name] = subagent({
        name,
        description,
        model: named === null ? model : await openNamedModel(named, context, config),
        tools: shared,
        ...(store ? { store } : {}),
        ...(system === null ? {} : { system }),
      })
    } catch (error) {
      sayNote(`the subagent ${name} is left out: ${errorText(error)}`, context)
    }
  }
  return { ...shared, ...subagents }
}

async function recallIn(config: Config, context: CommandContext, store: ToolStore | null): Promise<Tools> {
  if (!config.tools.recall || store === null) return {}
  const { recallTools } = await import('../../agent/recall/recall-tools.ts')
  return recallTools(store, { directory: await projectDirectories(store, context) })
}
