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

/** The model that answers, and its settings. */
export interface ModelSetup {
  readonly model: Model
  readonly choice: ModelChoice
  readonly config: Config
  /** True if another program answers. It chooses its own model and context. */
  readonly isForeign: boolean
  /** The model's window, in tokens. */
  readonly window: number
  /** The options it was created with, to create another one. */
  readonly options: ModelSetupOptions
  /** The part of the window to use, by the settings. */
  readonly contextWindow: Window
  /** Creates an agent on the store. Without a store, the agent keeps nothing and starts with the messages in
   *  `said`. */
  agentOn(store: AgentStore | null, said?: readonly NewMessage[]): Promise<Agent>
}

/** Opens the model and reads the settings. Opens no store. Throws MissingKeyError, InvalidError,
 *  UsageError. */
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
  /** Starts new conversations with a digest of earlier ones. */
  readonly recall?: boolean
  /** Starts the tool servers. They stop with the agent. */
  readonly tools?: (() => Promise<ConfiguredTools>) | null
}

/** The same with another model, for `/model`. */
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
        // The command itself waits for the store, with a message: see wait-until-saved.ts.
        await agent.close({ withinMs: 0 })
        await opened?.close()
      }
      return { ...agent, close, [Symbol.asyncDispose]: close }
    },
  }
}

/** The settings for every agent. */
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
