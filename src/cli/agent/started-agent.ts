import { agentName } from '../../acp/host/agent-name.ts'
import type { AgentCommand } from '../../acp/process/agent-process.ts'
import { readConfig } from '../../config/read-config.ts'
import { type Args, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { askTrust } from '../trust/ask-trust.ts'
import { findAgent, refuseMissing } from './find-agent.ts'
import type { NamedOwnAgent } from './own-agent-tools.ts'

/** The agent that a command line starts: another program, or one of ours. */
export type StartedAgent =
  | {
      readonly command: Omit<AgentCommand, 'cwd'> & { readonly cwd?: string }
      /** The name that its conversations are stored under. */
      readonly name: string
      /** The agent's own settings from its entry. */
      readonly settings: Readonly<Record<string, string>>
    }
  | { readonly own: NamedOwnAgent }

/** `<name>`, or everything after `--`. After a name, further arguments of the agent may follow `--`. Asks
 *  first whether a project's file is trusted. Throws UsageError. */
export async function startedAgent(args: Args, context: CommandContext): Promise<StartedAgent> {
  const [named] = args.arguments
  const given = args.behind ?? []
  const storedName = textOption(args, 'name')
  if (storedName?.trim() === '') throw new UsageError('--name must not be empty')
  if (named === undefined) {
    const [command, ...rest] = given
    if (command === undefined)
      throw new UsageError(
        'agent needs a name, or a command behind --',
        'skein agents lists the names. A command: skein agent -- copilot --acp --stdio',
      )
    const program = { command, args: rest }
    return { command: program, name: storedName ?? agentName(program), settings: {} }
  }
  const config = await readConfig(context.cwd, context.env)
  if (Object.hasOwn(config.agents, named)) await askTrust(config, context)
  const found = findAgent(named, config, context)
  refuseMissing(found)
  const { settings: entry, from } = found
  if (!('command' in entry)) {
    if (given.length > 0)
      throw new UsageError(`${named} is a model, and takes no arguments`, `skein agent ${named}`)
    return { own: { name: named, settings: entry, from } }
  }
  const { command, args: own, env, cwd, settings } = entry
  const program = { command, args: [...own, ...given], env, ...(cwd !== undefined && { cwd }) }
  return { command: program, name: storedName ?? named, settings }
}
