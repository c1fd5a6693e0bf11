import type { Agent } from '../../agent/agent.ts'
import type { AgentOptions, AgentStore } from '../../agent/options.ts'
import type { Config } from '../../config/config.ts'
import { windowOf } from '../../context/fit/model-windows.ts'
import type { Window } from '../../context/fit/window.ts'
import type { NewMessage } from '../../core/message.ts'
import type { Model } from '../../core/model.ts'
import { type Args, hasOption, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { type ModelChoice, openChosenModel } from './choose-model.ts'
import { type ConfiguredTools, configuredTools } from './configured-tools.ts'

/** Who answers: the model that was chosen, and how much it may be given. */
export interface ModelSetup {
  readonly model: Model
  readonly choice: ModelChoice
  readonly config: Config
  /** True if another program answers: which model that asks, and what it shows it, is its own affair. */
  readonly isForeign: boolean
  /** The model's window, in tokens. */
  readonly window: number
  /** What it was made with besides: for another one like it. */
  readonly options: ModelSetupOptions
  /** How much of it is used, by the settings. */
  readonly contextWindow: Window
  /** An agent that keeps what is said in the store; without one it keeps nothing, and knows what it is told
   *  was said. */
  agentOn(store: AgentStore | null, said?: readonly NewMessage[]): Promise<Agent>
}

/** Opens the model and reads the settings. Touches no store. Throws MissingKeyError, InvalidError, UsageError. */
export async function openModelSetup(args: Args, context: CommandContext): Promise<ModelSetup> {
  const system = textOption(args, 'system')
  if (system?.trim() === '') throw new UsageError('--system must not be empty')
  const { model, choice, config } = await openChosenModel(args, context)
  return createModelSetup(model, choice, config, system, {
    recall: hasOption(args, 'with-context'),
    tools: () => configuredTools(config, context),
  })
}

export interface ModelSetupOptions {
  /** New conversations begin with what earlier ones say of them. */
  readonly recall?: boolean
  /** Starts what gives tools. It is ended with the agent. */
  readonly tools?: (() => Promise<ConfiguredTools>) | null
}

/** The same with another model: what `/model` does. */
export function createModelSetup(
  model: Model,
  choice: ModelChoice,
  config: Config,
  system: string | undefined,
  { recall = false, tools = null }: ModelSetupOptions = {},
): ModelSetup {
  return {
    model,
    choice,
    config,
    isForeign: false,
    window: windowOf(model.id).limit,
    options: { recall, tools },
    contextWindow: { limit: windowOf(model.id).limit, ...agentSettings(config).window },
    async agentOn(store, said = []) {
      const { createAgent } = await import('../../agent/agent.ts')
      const opened = await tools?.()
      const agent = createAgent({
        model,
        ...agentSettings(config),
        ...(store ? { store } : { history: said }),
        ...(system === undefined ? {} : { system }),
        ...(opened ? { tools: opened.tools } : {}),
        recall,
      })
      const close = async () => {
        // The command waits for the store by itself, and says so: see wait-until-saved.ts.
        await agent.close({ withinMs: 0 })
        await opened?.close()
      }
      return { ...agent, close, [Symbol.asyncDispose]: close }
    },
  }
}

/** What the settings say of every agent. */
export function agentSettings({ conversation }: Config): Pick<AgentOptions, 'window' | 'strategy'> {
  const { maxTokens, keepRecentMessages, maxMessages, tokenStrategy } = conversation
  return {
    strategy: tokenStrategy,
    window: {
      maxTokens,
      keepRecent: keepRecentMessages,
      ...(maxMessages === null ? {} : { maxMessages }),
    },
  }
}
