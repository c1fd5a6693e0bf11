import { type AgentPreset, agentPresets } from '../../config/agent-presets.ts'
import type { ForeignAgentSettings, OwnAgentSettings } from '../../config/agent-settings.ts'
import type { Config } from '../../config/config.ts'
import { shownPath } from '../../config/read-config.ts'
import { similarWords } from '../../core/similar-words.ts'
import { findProgram } from '../../system/find-program.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { mayStart, projectFileOf } from '../trust/project-programs.ts'

/** An agent that can be named: an entry of `skein.yaml`, or one of the presets. */
export interface NamedAgent {
  readonly name: string
  readonly settings: ForeignAgentSettings | OwnAgentSettings
  /** Whether it is an entry of the user's own file, of the project's file, or a preset. */
  readonly from: 'user' | 'project' | 'preset'
}

/** An agent, and whether it can be started here. */
export interface ListedAgent extends NamedAgent {
  /** What it is, for people. */
  readonly title: string | null
  /** Its program is found in `PATH`. True for an agent of ours, which needs none. */
  readonly isInstalled: boolean
  /** How to install it; null if that is not known. */
  readonly install: string | null
}

/** All agents: the entries first, then the presets that no entry replaces. A project's file replaces a preset
 *  only if it is trusted: the user knows the preset by its name. */
export function listAgents(config: Config, context: Pick<CommandContext, 'env'>): readonly ListedAgent[] {
  const isReplaced = (name: string) =>
    Object.hasOwn(config.agents, name) && mayStart(`agents.${name}`, config, context)
  const entries = Object.entries(config.agents).filter(
    ([name]) => !Object.hasOwn(agentPresets, name) || isReplaced(name),
  )
  const configured = entries.map(([name, settings]): ListedAgent => {
    const from = projectFileOf(`agents.${name}`, config, context) === null ? 'user' : 'project'
    const isInstalled = !('command' in settings) || findProgram(settings.command, context.env) !== null
    return { name, settings, from, title: settings.description, isInstalled, install: null }
  })
  const presets = Object.entries(agentPresets)
    .filter(([name]) => !isReplaced(name))
    .map(([name, preset]): ListedAgent => {
      const program = presetProgram(preset, context.env)
      const { command, args } = program ?? preset
      const settings = { description: null, command, args, env: {}, settings: {} }
      const install = `npm i -g ${preset.packages.join(' ')}`
      return { name, settings, from: 'preset', title: preset.title, isInstalled: program !== null, install }
    })
  return [...configured, ...presets]
}

/** The agent with this name. Throws UsageError if there is none, or if the project's file that names its
 *  program is not trusted. */
export function findAgent(
  name: string,
  config: Config,
  context: Pick<CommandContext, 'cwd' | 'env'>,
): ListedAgent {
  const all = listAgents(config, context)
  const found = all.find(one => one.name === name)
  if (!found) throw noAgent(name, all)
  const { settings, from } = found
  if (!('command' in settings)) return found
  if (from === 'project' && !mayStart(`agents.${name}`, config, context)) {
    const file = shownPath(projectFileOf(`agents.${name}`, config, context)!, context.cwd, context.env)
    throw new UsageError(
      `${file} names the program of the agent ${name}, and you have not trusted that file`,
      'To trust it: skein config trust',
    )
  }
  return found
}

/** Throws UsageError if the program of an agent is missing, with the command that installs it. */
export function refuseMissing({ name, settings, isInstalled, install }: ListedAgent): void {
  if (isInstalled || !('command' in settings)) return
  throw new UsageError(
    `${name} is not installed: there is no ${agentPresets[name]?.product ?? settings.command} in PATH`,
    install ?? `Check agents.${name}.command: skein config edit`,
  )
}

/** The command of a preset: its own, or npx if only the product is installed. Null if neither can start. */
function presetProgram(
  { command, args, packages, product, needsProduct }: AgentPreset,
  env: CommandContext['env'],
): Pick<AgentPreset, 'command' | 'args'> | null {
  const has = (program: string) => findProgram(program, env) !== null
  const hasProduct = product !== null && has(product)
  if (has(command) && (hasProduct || !needsProduct)) return { command, args }
  return hasProduct && has('npx') ? { command: 'npx', args: ['-y', packages[0]!, ...args] } : null
}

function noAgent(name: string, all: readonly ListedAgent[]): UsageError {
  const [near] = similarWords(
    name,
    all.map(one => one.name),
  )
  const hint = near === undefined ? 'All: skein agents' : `Did you mean ${near}? All: skein agents`
  return new UsageError(
    `there is no agent ${name}`,
    `${hint}. A command goes after --: skein agent -- ${name}`,
  )
}
