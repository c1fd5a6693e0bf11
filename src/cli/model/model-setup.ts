import type { Host } from '../../acp/host/host-options.ts'
import type { Agent } from '../../agent/agent.ts'
import { mergeModelOptions } from '../../agent/model-options.ts'
import { nextContext } from '../../agent/next-context.ts'
import type { AgentOptions } from '../../agent/options.ts'
import type { Tools } from '../../agent/tools/tool.ts'
import type { Config } from '../../config/config.ts'
import { calibrated, uncalibrated } from '../../context/fit/calibrate.ts'
import { windowOf } from '../../context/fit/model-windows.ts'
import { budgetOf } from '../../context/fit/window.ts'
import type { ReadContext } from '../../context/read-context.ts'
import type { Conversation, ConversationPatch } from '../../core/conversation.ts'
import type { MessageId } from '../../core/ids.ts'
import type { NewMessage } from '../../core/message.ts'
import type { Model, ModelOptions } from '../../core/model.ts'
import type { MessageReader } from '../../core/ports.ts'
import { allowedTools } from '../approval/allowed-tools.ts'
import { type PersonApproval, personApproval } from '../approval/person-approval.ts'
import { type Args, hasOption, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import type { KeptSettings } from '../target/kept-settings.ts'
import { projectFolder } from '../target/scope.ts'
import { askTrust } from '../trust/ask-trust.ts'
import { chooseModel, demoMark, type ModelChoice, openChoice, openChosenModel } from './choose-model.ts'
import { type ConfiguredTools, configuredTools, type ToolStore } from './configured-tools.ts'
import { type CallOptions, callOptions, settingsOfModel } from './model-settings.ts'

/** The model that answers, and its settings. */
export interface ModelSetup extends KeptSettings {
  readonly model: Model
  readonly choice: ModelChoice
  readonly config: Config
  /** The agent of another program, if one answers. It chooses its own model and context. Otherwise null. */
  readonly host: Host | null
  /** The model's window, in tokens. */
  readonly window: number
  /** Most tokens of a context now: the part of the window that may be used. */
  limit(): number
  /** The options it was created with, to create another one. */
  readonly options: ModelSetupOptions
  /** The system prompt of the next call. */
  systemIn(conversation: Conversation | null): string | null
  /** What the next call sends, at a message. With `toolStore`, the tools of that store are opened first; by
   *  default they count once they have been opened. */
  contextAt(
    reader: MessageReader,
    conversation: Conversation,
    head: MessageId | null,
    toolStore?: ToolStore,
  ): Promise<ReadContext>
  /** Creates an agent on the store. Without a store, the agent keeps nothing and starts with the messages in
   *  `said`. */
  agentOn(store: ToolStore | null, said?: readonly NewMessage[]): Promise<Agent>
}

/** Opens the model of a conversation and reads the settings. Opens no store. Throws MissingKeyError,
 *  InvalidError, UsageError. */
export async function openModelSetup(
  args: Args,
  context: CommandContext,
  conversation: Conversation | null = null,
): Promise<ModelSetup> {
  const system = textOption(args, 'system')?.trim() === '' ? '' : (textOption(args, 'system') ?? null)
  const call = callOptions(args)
  const { model, choice, config } = await openChosenModel(args, context, conversation)
  // Before a chat reads the keyboard.
  await askTrust(config, context)
  return createModelSetup(model, choice, config, {
    system,
    call,
    recall: recallOf(textOption(args, 'with-context')),
    tools: () => toolsOf(args, config, context),
    approval: personApproval(context, allowedTools(args, config, context)),
  })
}

/** The tools of the configuration, and with `--tools` those for the files of the project. */
async function toolsOf(args: Args, config: Config, context: CommandContext): Promise<ConfiguredTools> {
  const configured = await configuredTools(config, context)
  if (!hasOption(args, 'tools')) return configured
  const { codingTools } = await import('../../agent/coding/coding-tools.ts')
  const { cwd, env } = context
  const project = projectFolder(cwd, env)
  const coding = codingTools({
    directory: cwd,
    additionalDirectories: project === cwd ? [] : [project],
  })
  return {
    ...configured,
    on: async (store, model, mayRun) => ({ ...coding, ...(await configured.on(store, model, mayRun)) }),
  }
}

/** The setup for another conversation of the same chat: with the model that it keeps, without the system
 *  prompt of the first. A new conversation has the same setup. */
export async function setupFor(
  setup: ModelSetup,
  conversation: Conversation | null,
  context: CommandContext,
): Promise<ModelSetup> {
  if (setup.host || conversation === null) return setup
  const choice = chooseModel({ arguments: [], options: {} }, context.env, setup.config, conversation)
  const isSame = choice.id === setup.model.id
  if (isSame && (setup.options.system ?? null) === null) return setup
  const model = isSame ? setup.model : await openChoice(choice, context, setup.config)
  return createModelSetup(model, choice, setup.config, { ...setup.options, system: null })
}

/** `--with-context` without a query is about the prompt. */
function recallOf(query: string | undefined): NonNullable<AgentOptions['recall']> {
  return query === undefined ? false : query === '' ? true : { query }
}

export interface ModelSetupOptions {
  /** The system prompt that was given, which conversations keep. An empty one removes theirs. */
  readonly system?: string | null
  /** The options that were given with `-o`. */
  readonly call?: CallOptions
  /** Starts new conversations with a digest of earlier ones, about the first message or a query. */
  readonly recall?: NonNullable<AgentOptions['recall']>
  /** Starts the tool servers. They stop with the agent. */
  readonly tools?: (() => Promise<ConfiguredTools>) | null
  /** Asks before a tool changes something. */
  readonly approval?: PersonApproval
}

export function createModelSetup(
  model: Model,
  choice: ModelChoice,
  config: Config,
  options: ModelSetupOptions = {},
): ModelSetup {
  const { recall = false, tools = null, system = null, approval } = options
  const settings = {
    ...agentSettings(config, model.id, options.call),
    calibration: { current: uncalibrated },
  }
  let started: Tools = {}
  const start = async (store: ToolStore | null) => {
    const opened = await tools?.()
    started = opened ? await opened.on(store, model) : {}
    return opened
  }
  const systemIn: ModelSetup['systemIn'] = conversation => {
    if (system !== null) return system === '' ? null : system
    return conversation?.promptPolicy === 'stored' ? (conversation.prompt?.text ?? null) : null
  }
  return {
    model,
    choice,
    config,
    host: null,
    window: settings.window.limit,
    limit: () => {
      const window = { reserveOutput: settings.maxOutput ?? 0, ...settings.window }
      return Math.max(1, budgetOf(calibrated(window, settings.calibration.current)))
    },
    options,
    systemIn,
    ofNew: {
      model: model.id,
      promptPolicy: 'stored',
      toolResults: config.conversation.toolResults,
      ...(system !== null && system !== '' && { prompt: system }),
      ...(choice.from === 'nothing' && { metadata: demoMark }),
    },
    changeOf: conversation => changeOf(conversation, choice, system),
    async contextAt(reader, conversation, head, toolStore) {
      if (toolStore) await start(toolStore)
      const prompt = systemIn(conversation)
      return nextContext(reader, head, {
        ...settings,
        model: model.id,
        tools: started,
        ...(prompt !== null && { system: prompt }),
      })
    },
    async agentOn(store, said = []) {
      const { createAgent } = await import('../../agent/agent.ts')
      const opened = await start(store)
      const agent = createAgent({
        model,
        ...settings,
        ...(store ? { store } : { history: said }),
        ...(system === null || system === '' ? {} : { system }),
        ...(opened ? { tools: started } : {}),
        ...(approval && { approve: approval.approve, approvals: approval.approvals }),
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

/** A model that was not chosen (the demo) changes nothing; any other one is kept from now on. */
function changeOf(
  { model, prompt, promptPolicy, metadata }: Conversation,
  choice: ModelChoice,
  system: string | null,
): ConversationPatch | null {
  const { demo, ...rest } = metadata
  const isChosen = choice.from !== 'nothing' && demo === true
  const wanted = system === '' ? null : system
  const isOtherPrompt = system !== null && ((prompt?.text ?? null) !== wanted || promptPolicy !== 'stored')
  const patch: ConversationPatch = {
    ...(model !== choice.id && { model: choice.id }),
    ...(isChosen && { metadata: rest }),
    ...(isOtherPrompt && { prompt: wanted, promptPolicy: 'stored' as const }),
  }
  return Object.keys(patch).length === 0 ? null : patch
}

/** The settings for every agent with this model. */
export function agentSettings(
  config: Config,
  model: string,
  call: CallOptions = { window: null, options: {} },
): ModelOptions & { readonly window: { readonly limit: number } } & Pick<
    AgentOptions,
    'strategy' | 'speakers'
  > {
  const { maxTokens, keepRecentMessages, maxMessages, maxAgeMs, loadLimit, tokenStrategy } =
    config.conversation
  const own = settingsOfModel(config, model)
  const limit = call.window ?? own.window
  return {
    ...mergeModelOptions(own.options, call.options),
    strategy: tokenStrategy,
    // Conversations of a channel with several people continue here too.
    speakers: true,
    window: {
      limit: limit ?? windowOf(model).limit,
      keepRecent: keepRecentMessages,
      ...(maxTokens === null ? {} : { maxTokens }),
      ...(maxMessages === null ? {} : { maxMessages }),
      ...(maxAgeMs === null ? {} : { maxAgeMs }),
      ...(loadLimit === null ? {} : { maxLoaded: loadLimit }),
    } as { readonly limit: number },
  }
}
