import type * as Discord from 'discord.js'
import { loadDiscord, readApplication } from './client.ts'

/** A finding of `skein discord --check`. */
export interface BotFinding {
  readonly name: 'token' | 'intents' | 'owner' | 'servers' | 'permissions' | 'invitation'
  readonly status: 'ok' | 'note' | 'failed'
  readonly message: string
}

/** The permissions that the bot uses, by their names in Discord. */
const needed = [
  ['View Channels', 'ViewChannel'],
  ['Send Messages', 'SendMessages'],
  ['Send Messages in Threads', 'SendMessagesInThreads'],
  ['Create Public Threads', 'CreatePublicThreads'],
  ['Read Message History', 'ReadMessageHistory'],
] as const

/** Asks Discord what the bot lacks: intents, an owner, servers, permissions. The last finding is the link
 *  that invites it. Throws MisconfiguredError for a token that Discord refuses. */
export async function checkBot(token: string, api?: string): Promise<readonly BotFinding[]> {
  const discord = await loadDiscord()
  const rest = new discord.REST(api === undefined ? {} : { api })
  const application = await readApplication(discord, rest, token)
  const servers = (await rest.get(discord.Routes.userGuilds())) as Discord.RESTGetAPICurrentUserGuildsResult
  const { PermissionFlagsBits: Bits } = discord
  const permissions = needed.reduce((sum, [, name]) => sum | Bits[name], 0n)
  const lacking = servers.flatMap(server => {
    const own = BigInt(server.permissions)
    const missing = needed.filter(
      ([, name]) => (own & Bits[name]) === 0n && (own & Bits.Administrator) === 0n,
    )
    return missing.length === 0 ? [] : [`${server.name} lacks ${missing.map(([shown]) => shown).join(', ')}`]
  })
  return [
    { name: 'token', status: 'ok', message: `it is the token of ${application.name}` },
    intents(discord, application),
    owner(application),
    servers.length === 0
      ? {
          name: 'servers',
          status: 'note',
          message: 'the bot is in no server. Direct messages need a common one',
        }
      : { name: 'servers', status: 'ok', message: servers.map(server => server.name).join(', ') },
    ...lacking.map(message => ({ name: 'permissions', status: 'failed', message }) as const),
    ...(lacking.length === 0 && servers.length > 0
      ? [{ name: 'permissions', status: 'ok', message: 'all that the bot uses' } as const]
      : []),
    { name: 'invitation', status: 'ok', message: invitation(application.id, permissions) },
  ]
}

function intents({ ApplicationFlags }: typeof Discord, { flags }: Discord.APIApplication): BotFinding {
  const either = ApplicationFlags.GatewayMessageContent | ApplicationFlags.GatewayMessageContentLimited
  if (((flags ?? 0) & either) !== 0)
    return { name: 'intents', status: 'ok', message: 'Message Content is on' }
  const page = 'https://discord.com/developers/applications, page Bot'
  return { name: 'intents', status: 'failed', message: `Message Content is off. Turn it on: ${page}` }
}

function owner({ owner, team }: Discord.APIApplication): BotFinding {
  const names = team ? team.members.map(({ user }) => user.username) : owner ? [owner.username] : []
  if (names.length === 0)
    return { name: 'owner', status: 'note', message: 'Discord names none, so only discord.allow counts' }
  return { name: 'owner', status: 'ok', message: names.join(', ') }
}

function invitation(id: string, permissions: bigint): string {
  const scope = 'scope=bot+applications.commands'
  return `https://discord.com/oauth2/authorize?client_id=${id}&${scope}&permissions=${permissions}`
}
