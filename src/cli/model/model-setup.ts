import type { Agent } from '../../agent/agent.ts'
import type { AgentOptions, AgentStore } from '../../agent/options.ts'
import type { Config } from '../../config/config.ts'
import { windowOf } from '../../context/fit/model-windows.ts'
import type { Window } from '../../context/fit/window.ts'
import type { NewMessage } from '../../core/message.ts'
import type { Model } from '../../core/model.ts'
import { type Given, hasOption, textOption } from '../command-line/command.ts'
import type { World } from '../command-line/command-context.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { type ModelChoice, modelFor } from './choose-model.ts'
import { type ConfiguredTools, toolsOf } from './configured-tools.ts'

/** Who answers: the model that was chosen, and how much it may be given. */
export interface Speaker {
  readonly model: Model
  readonly choice: ModelChoice
  readonly config: Config
  /** True if another program answers: which model that asks, and what it shows it, is its own affair. */
  readonly isForeign: boolean
  /** The model's window, in tokens. */
  readonly window: number
  /** What it was made with besides: for another one like it. */
  readonly options: SpeakerOptions
  /** How much of it is used, by the settings. */
  readonly contextWindow: Window
  /** An agent that keeps what is said in the store; without one it keeps nothing, and knows what it is told
   *  was said. */
  agentOn(store: AgentStore | null, said?: readonly NewMessage[]): Promise<Agent>
}

/** Opens the model and reads the settings. Touches no store. Throws MissingKeyError, InvalidError,
 *  UsageError. */
export async function openSpeaker(given: Given, world: World): Promise<Speaker> {
  const system = textOption(given, 'system')
  if (system?.trim() === '') throw new UsageError('--system must not be empty')
  const { model, choice, config } = await modelFor(given, world)
  return speakerFor(model, choice, config, system, {
    recall: hasOption(given, 'with-context'),
    tools: () => toolsOf(config, world),
  })
}

export interface SpeakerOptions {
  /** New conversations begin with what earlier ones say of them. */
  readonly recall?: boolean
  /** Starts what gives tools. It is ended with the agent. */
  readonly tools?: (() => Promise<ConfiguredTools>) | null
}

/** The same with another model: what `/model` does. */
export function speakerFor(
  model: Model,
  choice: ModelChoice,
  config: Config,
  system: string | undefined,
  { recall = false, tools = null }: SpeakerOptions = {},
): Speaker {
  return {
    model,
    choice,
    config,
    isForeign: false,
    window: windowOf(model.id).limit,
    options: { recall, tools },
    contextWindow: { limit: windowOf(model.id).limit, ...settingsOf(config).window },
    async agentOn(store, said = []) {
      const { createAgent } = await import('../../agent/agent.ts')
      const given = await tools?.()
      const agent = createAgent({
        model,
        ...settingsOf(config),
        ...(store ? { store } : { history: said }),
        ...(system === undefined ? {} : { system }),
        ...(given ? { tools: given.tools } : {}),
        recall,
      })
      const close = async () => {
        // The command waits for the store by itself, and says so: see wait-until-saved.ts.
        await agent.close({ withinMs: 0 })
        await given?.close()
      }
      return { ...agent, close, [Symbol.asyncDispose]: close }
    },
  }
}

/** What the settings say of every agent. */
export function settingsOf({ conversation }: Config): Pick<AgentOptions, 'window' | 'strategy'> {
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
