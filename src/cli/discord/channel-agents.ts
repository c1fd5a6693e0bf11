import type { Agent } from '../../agent/agent.ts'
import type { Tools } from '../../agent/tools/tool.ts'
import type { ChannelStore } from '../../channels/discord/conversations.ts'
import type { PlaceMetadata } from '../../channels/discord/place.ts'
import { conversationsInScope, withinScope } from '../../channels/discord/scope.ts'
import type { Config } from '../../config/config.ts'
import type { Conversation } from '../../core/conversation.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { Args } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { chooseModel, openNamedModel } from '../model/choose-model.ts'
import { type ConfiguredTools, configuredTools, type ToolStore } from '../model/configured-tools.ts'
import { agentSettings } from '../model/model-setup.ts'

/** The agents that answer in Discord. */
export interface ChannelAgents {
  /** Opens the agent of a conversation, with the model that it keeps or the configured one. */
  open(conversationId: string, isPublic: (channelId: string) => boolean): Promise<Agent>
  /** Stops the tool servers. */
  close(): Promise<void>
}

const speakerNote =
  'You answer in Discord, where several people may write. Each message of a person begins with a line such as ' +
  '[speaker "Ada", id 42], which the program adds. Never write such a line yourself.'

/** Makes agents on demand. No person is there to ask, so only tools run that are read-only or named in
 *  `tools.allow`. With `tools.recall`, an agent finds only conversations of its own server or direct message,
 *  and of a server only those that everyone there can see. */
export function createChannelAgents(
  args: Args,
  context: CommandContext,
  config: Config,
  store: ChannelStore & ToolStore,
): ChannelAgents {
  let tools: Promise<ConfiguredTools> | undefined
  const mayRun = (name: string, tool: Tools[string]) =>
    tool.readOnly === true || config.tools.allow.includes(name)
  const system = [config.discord.system, speakerNote].filter(text => text !== null).join('\n\n')

  return {
    async open(id, isPublic) {
      const conversation = await store.getConversation(id as ConversationId)
      const { id: name } = chooseModel(args, context.env, config, conversation)
      const model = await openNamedModel(name, context, config)
      tools ??= configuredTools(config, context)
      const recall = config.tools.recall ? await recallIn(store, conversation, isPublic) : {}
      const given = await (await tools).on(store, model, mayRun, recall)
      const { createAgent } = await import('../../agent/agent.ts')
      return createAgent({ model, store, system, tools: given, ...agentSettings(config, model.id) })
    },
    close: async () => (await tools?.catch(() => undefined))?.close(),
  }
}

async function recallIn(
  store: ChannelStore,
  { metadata }: Conversation,
  isPublic: (channelId: string) => boolean,
): Promise<Tools> {
  const { discord_scope: scope, discord_channel: own } = metadata as Partial<PlaceMetadata>
  if (scope === undefined) return {}
  const isVisible = (channelId: string) => channelId === own || isPublic(channelId)
  const { recallTools } = await import('../../agent/recall/recall-tools.ts')
  return recallTools(withinScope(store, () => conversationsInScope(store, scope, isVisible)))
}
