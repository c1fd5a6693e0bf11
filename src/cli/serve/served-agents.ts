import type { Agent } from '../../agent/agent.ts'
import { allowTools } from '../../agent/approval/approval.ts'
import type { Config } from '../../config/config.ts'
import { InvalidError } from '../../core/errors.ts'
import type { Args } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { chooseModel, openNamedModel } from '../model/choose-model.ts'
import {
  type ConfiguredTools,
  configuredTools,
  type ToolFilter,
  type ToolStore,
} from '../model/configured-tools.ts'
import { agentSettings } from '../model/model-setup.ts'

/** The agents that answer the turns of a service. */
export interface ServedAgents {
  /** The agent of a tenant with the named model, or with the configured one. Opened once. */
  agentOf(tenant: string, model?: string): Promise<Agent>
  /** Stops running turns, and the tool servers. */
  close(): Promise<void>
}

/** Makes agents on demand. No person is there to ask, so only tools run that are read-only or named in
 *  `tools.allow`. Calls of tools in `tools.ask` wait for an approval. */
export function createServedAgents(
  args: Args,
  context: CommandContext,
  config: Config,
  storeOf: (tenant: string) => Promise<ToolStore>,
): ServedAgents {
  const agents = new Map<string, Promise<Agent>>()
  let tools: Promise<ConfiguredTools> | undefined

  async function open(tenant: string, name: string): Promise<Agent> {
    const model = await openNamedModel(name, context, config).catch(asInvalid)
    const store = await storeOf(tenant)
    tools ??= configuredTools(config, context)
    const mayRun = mayRunUnattended(config)
    const given = await (await tools).on(
      store,
      model,
      (name, tool) => mayRun(name, tool) || config.tools.ask.includes(name),
    )
    const { createAgent } = await import('../../agent/agent.ts')
    const approve = allowTools(config.tools.allow, 'later')
    return createAgent({ model, store, tools: given, approve, ...agentSettings(config, model.id) })
  }

  return {
    agentOf(tenant, model) {
      const name = model ?? chooseModel(args, context.env, config).id
      const key = JSON.stringify([tenant, name])
      const known = agents.get(key)
      if (known) return known
      const opening = open(tenant, name)
      agents.set(key, opening)
      opening.catch(() => agents.delete(key))
      return opening
    },
    async close() {
      const opened = await Promise.allSettled(agents.values())
      await Promise.all(opened.map(one => (one.status === 'fulfilled' ? one.value.close() : undefined)))
      await (await tools?.catch(() => undefined))?.close()
    },
  }
}

/** No person is there to ask: only tools run that are read-only or named in `tools.allow`. */
export function mayRunUnattended(config: Config): ToolFilter {
  return (name, tool) => tool.readOnly === true || config.tools.allow.includes(name)
}

/** A model that does not exist is an error of the request. */
function asInvalid(error: unknown): never {
  if (error instanceof UsageError) throw new InvalidError('model', error.message)
  throw error
}
