import type { DiscordAllow } from '../../config/discord-settings.ts'
import type { IncomingMessage } from './incoming.ts'
import type { DiscordPlace } from './place.ts'

/** Who may use the bot. */
export interface DiscordAccess {
  /** The owner of the application, or the members of the team that owns it. */
  readonly owners: readonly string[]
  readonly allow: DiscordAllow
}

/** Whether a person is answered in a place: the owner everywhere, others as `discord.allow` says. */
export function isAllowed(place: DiscordPlace, userId: string, { owners, allow }: DiscordAccess): boolean {
  if (owners.includes(userId) || allow.people.includes(userId)) return true
  if (place.kind === 'dm') return false
  if (allow.servers.includes(place.serverId) || allow.channels.includes(place.channelId)) return true
  return place.kind === 'thread' && allow.channels.includes(place.threadId)
}

/** Whether a message speaks to the bot. `if known`: only if the thread has a conversation, because the bot
 *  took part in it earlier. */
export function isAddressed(
  message: Pick<IncomingMessage, 'place' | 'isAutomatic' | 'mentionsBot' | 'repliesToBot' | 'isMember'>,
): 'yes' | 'no' | 'if known' {
  if (message.isAutomatic) return 'no'
  if (message.place.kind === 'dm' || message.mentionsBot || message.repliesToBot) return 'yes'
  if (message.place.kind === 'channel') return 'no'
  return message.isMember ? 'yes' : 'if known'
}
