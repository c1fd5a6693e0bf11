import type { SeatStore } from '../../acp/seat/seat-prompt.ts'
import type { Agent } from '../../agent/agent.ts'
import { allowTools } from '../../agent/approval/approval.ts'
import type { ForeignAgentSettings, OwnAgentSettings } from '../../config/agent-settings.ts'
import type { Config } from '../../config/config.ts'
import type { McpAgent } from '../../mcp/tools/endpoint-options.ts'
import { findAgent, type NamedAgent } from '../agent/find-agent.ts'
import { openOwnTools } from '../agent/own-agent-tools.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { askedVariable } from '../model/asked-variable.ts'
import { openNamedModel } from '../model/choose-model.ts'
import type { ToolStore } from '../model/configured-tools.ts'
import { agentSettings } from '../model/model-setup.ts'

/** The ports of a store that an agent needs, ours or another program's. */
type AskedStore = ToolStore & SeatStore

/** The agent behind `ask`. */
export interface AskedAgent extends AsyncDisposable {
  readonly agent: McpAgent
  /** Stops its tasks, its process and its tool servers. */
  close(): Promise<void>
}

/** The agent with this name: an entry of `agents`, or a preset. It starts with its first task. Throws
 *  UsageError if it does not exist, or if a project's file that is not trusted names its program. */
export function openAskedAgent(
  name: string,
  config: Config,
  context: CommandContext,
  store: () => Promise<AskedStore>,
): AskedAgent {
  const { settings, from } = findAgent(name, config, context)
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
            : openOwn(name, settings, context, config, await store(), from)
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

interface OpenedAgent {
  readonly agent: Agent
  close(): Promise<void>
}

async function openForeign(
  name: string,
  { command, args, env, cwd, settings }: ForeignAgentSettings,
  context: CommandContext,
  store: AskedStore,
): Promise<OpenedAgent> {
  const { createHost } = await import('../../acp/host/host.ts')
  const directory = cwd ?? context.cwd
  const agent = createHost({
    store,
    name,
    directory,
    settings,
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
  from: NamedAgent['from'],
): Promise<OpenedAgent> {
  const model = await openNamedModel(settings.model, context, config)
  const opened = await openOwnTools({ name, settings, from }, config, context)
  const given = await opened.on(store, model)
  const { createAgent } = await import('../../agent/agent.ts')
  const agent = createAgent({
    model,
    store,
    tools: given,
    // Naming a tool in the entry allows it.
    approve: allowTools(['all']),
    ...agentSettings(config, model.id),
    ...(settings.system !== null && { system: settings.system }),
  })
  const close = async () => {
    await agent.close({ withinMs: 0 })
    await opened.close()
  }
  return { agent, close }
}
