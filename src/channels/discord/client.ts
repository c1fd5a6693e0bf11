import type * as Discord from 'discord.js'
import { errorText } from '../../core/error-text.ts'
import { MisconfiguredError, UnavailableError } from '../../core/errors.ts'
import { withoutSecrets } from '../../system/secrets.ts'
import type { DiscordChannel } from './channel.ts'
import { closeProblem, invalidToken } from './close-codes.ts'
import { slashDeclarations } from './commands.ts'
import { createTranslator } from './translate.ts'

/** How to connect. */
export interface ConnectOptions {
  readonly token: string
  /** The address of Discord's API. Default: Discord's own. */
  readonly api?: string
  /** Makes the channel, once the owner is known. */
  open(bot: BotFacts): Promise<DiscordChannel>
  /** Reports the state of the connection, for the log. */
  onNote(text: string): void
}

/** What is known before the first message. */
export interface BotFacts {
  /** The people who own the application. */
  readonly owners: readonly string[]
  /** Whether everyone in its server can see a channel. */
  isPublic(channelId: string): boolean
}

/** A bot that is connected. */
export interface ConnectedBot {
  readonly name: string
  readonly servers: number
  readonly channel: DiscordChannel
  /** Rejects when Discord refuses the bot for good. */
  readonly failed: Promise<never>
  /** Closes the channel, then the connection. False if something could not be stored. */
  close(): Promise<boolean>
}

/** Loads discord.js, which only `skein discord` needs. */
export async function loadDiscord(): Promise<typeof Discord> {
  try {
    return await import('discord.js')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error
    throw new MisconfiguredError('package', 'discord.js is not installed', {
      hint: 'npm install discord.js@14',
    })
  }
}

/** Connects the bot. Events that arrive before `open` has returned wait for it. Throws MisconfiguredError if
 *  Discord refuses the token or the intents. */
export async function connectDiscord(options: ConnectOptions): Promise<ConnectedBot> {
  const { token, onNote } = options
  const discord = await loadDiscord()
  const client = createClient(discord, options.api)
  const application = await readApplication(discord, client.rest, token)
  const isPublic = (channelId: string) => canEveryoneSee(discord, client, channelId)
  const channel = await options.open({ owners: ownersOf(application), isPublic })
  const failure = Promise.withResolvers<never>()
  // It is read later, or never.
  failure.promise.catch(() => undefined)
  client.on('shardDisconnect', ({ code }) => failure.reject(closeProblem(code)))
  let isClosing = false
  client.on('shardReconnecting', () => {
    if (!isClosing) onNote('the connection to Discord was lost, reconnecting')
  })
  client.on('shardResume', (_, replayed) => onNote(`connected again, ${replayed} events were replayed`))
  client.on('error', error => onNote(`discord.js: ${clean(error, token)}`))
  createTranslator(discord, client, channel, error => onNote(clean(error, token)))
  try {
    const ready = new Promise<void>(resolve => client.once('clientReady', () => resolve()))
    const login = client.login(token).catch(async (error: unknown) => {
      if (isRefused(error)) throw invalidToken()
      // The reason of a refusal comes with the close code.
      await new Promise(resolve => setImmediate(resolve))
      throw await Promise.race([failure.promise, Promise.resolve(error)])
    })
    await Promise.race([Promise.all([login, ready]), failure.promise])
  } catch (error) {
    await client.destroy()
    await channel.close()
    throw error
  }
  const body = registeredCommands(discord)
  await client.rest
    .put(discord.Routes.applicationCommands(application.id), { body })
    .catch((error: unknown) => {
      onNote(`the slash commands could not be registered: ${clean(error, token)}`)
    })
  return {
    name: client.user?.tag ?? application.name,
    servers: client.guilds.cache.size,
    channel,
    failed: failure.promise,
    async close() {
      const isSaved = await channel.close()
      isClosing = true
      await client.destroy()
      return isSaved
    },
  }
}

/** The slash commands in the form that Discord registers. */
function registeredCommands(
  discord: typeof Discord,
): readonly Discord.RESTPostAPIChatInputApplicationCommandsJSONBody[] {
  const { ApplicationCommandOptionType: Type, InteractionContextType: Context, PermissionFlagsBits } = discord
  return slashDeclarations.map(({ name, about, options, isForModerators }) => ({
    name,
    description: about,
    contexts: [Context.Guild, Context.BotDM],
    ...(isForModerators && { default_member_permissions: String(PermissionFlagsBits.ManageMessages) }),
    options: options.map(option => {
      const facts = { name: option.name, description: option.about, required: option.isRequired ?? false }
      return option.type === 'text' ? { ...facts, type: Type.String } : { ...facts, type: Type.Integer }
    }),
  }))
}

function createClient(discord: typeof Discord, api: string | undefined): Discord.Client {
  const { Client, GatewayIntentBits: Intents, Options, Partials } = discord
  return new Client({
    intents: [Intents.Guilds, Intents.GuildMessages, Intents.DirectMessages, Intents.MessageContent],
    // Direct messages and changes of old messages are not in the cache.
    partials: [Partials.Channel, Partials.Message],
    allowedMentions: { parse: [], repliedUser: false },
    failIfNotExists: false,
    // Everything that was said is in the store.
    makeCache: Options.cacheWithLimits({
      ...Options.DefaultMakeCacheSettings,
      DMMessageManager: 0,
      GuildMessageManager: 0,
      MessageManager: 0,
      PresenceManager: 0,
      ReactionManager: 0,
      UserManager: { maxSize: 200, keepOverLimit: user => user.id === user.client.user?.id },
      GuildMemberManager: { maxSize: 200, keepOverLimit: member => member.id === member.client.user?.id },
    }),
    ...(api !== undefined && { rest: { api } }),
  })
}

/** The application of a token. Throws MisconfiguredError if Discord refuses it. */
export async function readApplication(
  discord: typeof Discord,
  rest: Discord.REST,
  token: string,
): Promise<Discord.APIApplication> {
  rest.setToken(token)
  try {
    return (await rest.get(discord.Routes.currentApplication())) as Discord.APIApplication
  } catch (error) {
    throw isRefused(error) ? invalidToken() : unreachable(error, token)
  }
}

function unreachable(error: unknown, token: string): Error {
  return new UnavailableError(`Discord cannot be reached: ${clean(error, token)}`, {
    hint: 'Is this machine connected? skein discord --check',
  })
}

/** The owner, or the members of the team that owns the application. */
function ownersOf({ owner, team }: Discord.APIApplication): readonly string[] {
  if (team) return team.members.map(({ user }) => user.id)
  return owner ? [owner.id] : []
}

function isRefused(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return ('status' in error && error.status === 401) || ('code' in error && error.code === 'TokenInvalid')
}

function canEveryoneSee(discord: typeof Discord, client: Discord.Client, channelId: string): boolean {
  const found = client.channels.cache.get(channelId)
  if (!found || found.isDMBased() || found.type === discord.ChannelType.PrivateThread) return false
  return (
    found.permissionsFor(found.guild.roles.everyone)?.has(discord.PermissionFlagsBits.ViewChannel) ?? false
  )
}

function clean(error: unknown, token: string): string {
  return withoutSecrets(errorText(error), [token])
}
