import type * as Discord from 'discord.js'
import type { DiscordChannel } from './channel.ts'
import { slashDeclarations } from './commands.ts'
import type {
  AnswerPort,
  CommandAnswer,
  IncomingCommand,
  IncomingMessage,
  ThreadStarter,
} from './incoming.ts'
import type { DiscordPlace } from './place.ts'

/** The code of Discord's API for a message that does not exist. */
const unknownMessage = 10_008

/** Translates the events of a client into the plain values of the channel, and its answers into requests. */
export function createTranslator(
  discord: typeof Discord,
  client: Discord.Client,
  channel: DiscordChannel,
  onProblem: (error: unknown) => void,
): void {
  client.on('messageCreate', message => {
    const place = placeOf(message.channel, message.author.id)
    if (place) channel.receive(incomingOf(discord, client, message, place))
  })
  // Events of the gateway, not of the client: the client drops changes of messages that it does not remember.
  const { GatewayDispatchEvents: Events } = discord
  const changed = (change: 'edit' | 'delete', where: ChangedPlace, ids: readonly string[]) =>
    void placeOfChange(client, where).then(place => place && channel.changed(change, place, ids), onProblem)
  client.ws.on(Events.MessageUpdate, (data: Discord.GatewayMessageUpdateDispatchData) => {
    // Discord also sends updates for previews of links, without a time of editing.
    if (data.edited_timestamp && !data.author?.bot) changed('edit', data, [data.id])
  })
  client.ws.on(Events.MessageDelete, (data: Discord.GatewayMessageDeleteDispatchData) =>
    changed('delete', data, [data.id]),
  )
  client.ws.on(Events.MessageDeleteBulk, (data: Discord.GatewayMessageDeleteBulkDispatchData) =>
    changed('delete', data, data.ids),
  )
  client.on('interactionCreate', interaction => {
    if (interaction.isChatInputCommand() || interaction.isButton())
      void runInteraction(discord, channel, interaction).catch(onProblem)
  })
}

/** The place of a channel. `userId` is the other person of a direct message. */
function placeOf(channel: Discord.Channel | null, userId: string): DiscordPlace | null {
  if (channel === null) return null
  if (channel.isThread()) {
    const { id, parentId, guildId } = channel
    return { kind: 'thread', threadId: id, channelId: parentId ?? id, serverId: guildId }
  }
  if (channel.isDMBased()) return userId === '' ? null : { kind: 'dm', userId }
  return { kind: 'channel', channelId: channel.id, serverId: channel.guildId }
}

/** Where a message was changed, as the gateway says it. */
interface ChangedPlace {
  readonly channel_id: string
  readonly guild_id?: string | undefined
}

/** The place of a change. Discord does not name the person of a direct message with it. */
async function placeOfChange(
  client: Discord.Client,
  { channel_id, guild_id }: ChangedPlace,
): Promise<DiscordPlace | null> {
  const known = client.channels.cache.get(channel_id) ?? null
  if (guild_id !== undefined) return placeOf(known, '')
  const dm = known ?? (await client.channels.fetch(channel_id))
  return dm?.isDMBased() && 'recipientId' in dm ? placeOf(dm, dm.recipientId) : null
}

function incomingOf(
  discord: typeof Discord,
  client: Discord.Client,
  message: Discord.Message,
  place: DiscordPlace,
): IncomingMessage {
  const { channel, author } = message
  const me = client.user?.id ?? ''
  const isMember = channel.isThread() && channel.joined
  return {
    id: message.id,
    place,
    placeName: channel.isDMBased() ? null : channel.name,
    author: { id: author.id, name: message.member?.displayName ?? author.displayName },
    isAutomatic: author.bot || message.system || message.webhookId !== null,
    text: wordsOf(message, me),
    attachments: [...message.attachments.values()].map(({ name, contentType, size, url }) => ({
      name,
      mime: contentType ?? '',
      bytes: size,
      url,
    })),
    mentionsBot: message.mentions.users.has(me),
    repliesToBot: message.mentions.repliedUser?.id === me,
    isMember,
    isPrivate: channel.type === discord.ChannelType.PrivateThread,
    port: portOf(discord, message),
    starter: () => (channel.isThread() ? starterOf(channel, me) : Promise.resolve(null)),
  }
}

/** The words without the mention that addresses the bot, and with names in place of other ids. */
function wordsOf(message: Discord.Message, me: string): string {
  const addressed = new RegExp(`^(?:\\s*<@!?${me}>)+|(?:<@!?${me}>\\s*)+$`, 'g')
  const { content } = message
  const rest = me === '' ? content : content.replaceAll(addressed, '')
  const named = rest === content ? message.cleanContent : cleanedBy(message, rest)
  return named.trim()
}

/** `cleanContent` of another text in the same channel. */
function cleanedBy(message: Discord.Message, text: string): string {
  return Object.create(message, { content: { value: text } }).cleanContent as string
}

function portOf(discord: typeof Discord, { channel }: Discord.Message): AnswerPort {
  const allowedMentions = { parse: [], repliedUser: false }
  return {
    async send(content, replyTo) {
      if (!channel.isSendable()) throw new Error('the bot may not write in this channel')
      const reply = replyTo === null ? {} : { reply: { messageReference: replyTo, failIfNotExists: false } }
      // The nonce lets Discord recognize a repeated request.
      const nonce = discord.SnowflakeUtil.generate().toString()
      const sent = await channel.send({ content, allowedMentions, nonce, enforceNonce: true, ...reply })
      return sent.id
    },
    async edit(id, content) {
      try {
        await channel.messages.edit(id, { content, allowedMentions })
        return true
      } catch (error) {
        if (error instanceof discord.DiscordAPIError && error.code === unknownMessage) return false
        throw error
      }
    },
    async showTyping() {
      if (channel.isSendable()) await channel.sendTyping()
    },
  }
}

/** How many messages before a part of an answer to look at: its first part is a reply. */
const mostParts = 20

/** The message that a thread was started on. A later part of an answer counts as its first part, which
 *  replies to the question. */
async function starterOf(thread: Discord.AnyThreadChannel, me: string): Promise<ThreadStarter | null> {
  const message = await thread.fetchStarterMessage().catch(() => null)
  if (message === null) return null
  const { id } = message
  if (message.author.id !== me) return { id, answerTo: null }
  if (message.reference?.messageId) return { id, answerTo: message.reference.messageId }
  const before = await message.channel.messages.fetch({ before: id, limit: mostParts, cache: false })
  const first = before.find(one => one.author.id === me && one.reference?.messageId !== undefined)
  return { id, answerTo: first?.reference?.messageId ?? null }
}

type Interaction = Discord.ChatInputCommandInteraction | Discord.ButtonInteraction

/** Discord waits three seconds for a first reaction, so the command is acknowledged before it runs. */
async function runInteraction(
  discord: typeof Discord,
  channel: DiscordChannel,
  interaction: Interaction,
): Promise<void> {
  const place = placeOf(interaction.channel, interaction.user.id)
  const parsed = parsedCommand(interaction)
  if (place === null || parsed === null) return
  if (interaction.isButton()) await interaction.deferUpdate()
  else {
    const isPrivate = slashDeclarations.find(({ name }) => name === parsed.name)?.isPrivate ?? true
    await interaction.deferReply(isPrivate ? { flags: discord.MessageFlags.Ephemeral } : {})
  }
  const { user, member } = interaction
  const name = member && 'displayName' in member ? member.displayName : user.displayName
  await channel.command({
    id: interaction.id,
    ...parsed,
    place,
    placeName: interaction.channel && 'name' in interaction.channel ? interaction.channel.name : null,
    user: { id: user.id, name },
    canSee: channelId => canSee(discord, interaction, channelId),
    reply: async answer => void (await interaction.editReply(replyOf(discord, answer))),
    createThread: title => createThread(interaction, title),
  })
}

/** A button carries the command in its id. */
function parsedCommand(interaction: Interaction): Pick<IncomingCommand, 'name' | 'options'> | null {
  if (interaction.isButton()) {
    const [, name, argument] = /^skein:([\w-]+):(.+)$/.exec(interaction.customId) ?? []
    return name === undefined || argument === undefined ? null : { name, options: { argument } }
  }
  const options: Record<string, string | number> = {}
  for (const { name, value } of interaction.options.data) {
    if (typeof value === 'string' || typeof value === 'number') options[name] = value
  }
  return { name: interaction.commandName, options }
}

function replyOf(
  discord: typeof Discord,
  { text, button }: CommandAnswer,
): Discord.InteractionEditReplyOptions {
  const { ActionRowBuilder, ButtonBuilder, ButtonStyle } = discord
  const components =
    button === undefined
      ? []
      : [
          new ActionRowBuilder<Discord.ButtonBuilder>().addComponents(
            new ButtonBuilder()
              .setCustomId(`skein:${button.name}:${button.argument}`)
              .setLabel(button.label)
              .setStyle(ButtonStyle.Danger),
          ),
        ]
  return { content: text, components, allowedMentions: { parse: [], repliedUser: false } }
}

/** Whether the person of a command can see a channel. Of private threads only the one that the command was
 *  used in: their members are not known. */
function canSee(discord: typeof Discord, interaction: Interaction, channelId: string): boolean {
  if (channelId === interaction.channelId) return true
  const found = interaction.guild?.channels.cache.get(channelId)
  if (!found || found.type === discord.ChannelType.PrivateThread) return false
  return found.permissionsFor(interaction.user.id)?.has(discord.PermissionFlagsBits.ViewChannel) ?? false
}

async function createThread({ channel }: Interaction, name: string): Promise<string | null> {
  if (!channel || channel.isDMBased() || channel.isThread() || !('threads' in channel)) return null
  const made = await channel.threads.create({ name: name.slice(0, 100) } as never)
  return (made as { readonly id: string }).id
}
