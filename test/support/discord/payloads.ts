import type { LoopbackChannel, LoopbackMessage, LoopbackUser } from './loopback-discord.ts'

/** Payloads in the form that Discord documents, as far as discord.js reads them. */

export function userPayload({ id, name, bot = false }: LoopbackUser) {
  return { id, username: name, global_name: name, discriminator: '0', avatar: null, bot }
}

export function memberPayload(user: LoopbackUser) {
  return {
    user: userPayload(user),
    nick: null,
    roles: [],
    joined_at: '2026-01-01T00:00:00.000Z',
    deaf: false,
    mute: false,
    flags: 0,
    permissions: '309237713920',
  }
}

export function channelPayload(channel: LoopbackChannel, bot: LoopbackUser) {
  const { id, name, serverId, parentId, isPrivate, userId } = channel
  if (userId !== null) {
    const recipient = { id: userId, name: channel.name }
    return { id, type: 1, last_message_id: null, recipients: [userPayload(recipient)] }
  }
  if (parentId !== null) {
    return {
      id,
      type: isPrivate ? 12 : 11,
      guild_id: serverId,
      parent_id: parentId,
      name,
      owner_id: bot.id,
      message_count: 0,
      member_count: 1,
      thread_metadata: {
        archived: false,
        auto_archive_duration: 1_440,
        archive_timestamp: '2026-01-01T00:00:00.000Z',
        locked: false,
      },
      ...(channel.isJoined && {
        member: { id, user_id: bot.id, join_timestamp: '2026-01-01T00:00:00.000Z', flags: 0 },
      }),
    }
  }
  return {
    id,
    type: 0,
    guild_id: serverId,
    name,
    position: 0,
    nsfw: false,
    topic: null,
    parent_id: null,
    // A private channel denies its server's everyone role the permission to view it.
    permission_overwrites: isPrivate ? [{ id: serverId, type: 0, allow: '0', deny: '1024' }] : [],
  }
}

export function serverPayload(
  id: string,
  name: string,
  channels: readonly LoopbackChannel[],
  bot: LoopbackUser,
) {
  const own = channels.filter(({ serverId }) => serverId === id)
  return {
    id,
    name,
    icon: null,
    owner_id: '1',
    unavailable: false,
    large: false,
    member_count: 2,
    joined_at: '2026-01-01T00:00:00.000Z',
    roles: [{ id, name: '@everyone', permissions: '309237713920', position: 0, color: 0, hoist: false }],
    members: [memberPayload(bot)],
    channels: own.filter(({ parentId }) => parentId === null).map(one => channelPayload(one, bot)),
    threads: own.filter(({ parentId }) => parentId !== null).map(one => channelPayload(one, bot)),
    ...{ emojis: [], stickers: [], features: [], voice_states: [], presences: [], stage_instances: [] },
    ...{ guild_scheduled_events: [], soundboard_sounds: [] },
    ...{ verification_level: 0, default_message_notifications: 0, explicit_content_filter: 0 },
    ...{ mfa_level: 0, premium_tier: 0, nsfw_level: 0, system_channel_flags: 0, preferred_locale: 'en-US' },
  }
}

export function messagePayload(message: LoopbackMessage, channel: LoopbackChannel, bot: LoopbackUser) {
  const { id, author, text, replyTo, at, editedAt, attachments } = message
  const mentionsBot = text.includes(`<@${bot.id}>`)
  return {
    id,
    channel_id: channel.id,
    channel_type: channelPayload(channel, bot).type,
    ...(channel.serverId === null ? {} : { guild_id: channel.serverId, member: memberPayload(author) }),
    author: userPayload(author),
    content: text,
    timestamp: new Date(at).toISOString(),
    edited_timestamp: editedAt === null ? null : new Date(editedAt).toISOString(),
    tts: false,
    mention_everyone: false,
    mentions: mentionsBot ? [userPayload(bot)] : [],
    mention_roles: [],
    attachments,
    embeds: [],
    pinned: false,
    type: replyTo === null ? 0 : 19,
    ...(replyTo !== null && {
      message_reference: { message_id: replyTo.id, channel_id: channel.id, guild_id: channel.serverId },
      referenced_message: {
        ...{ id: replyTo.id, channel_id: channel.id, author: userPayload(replyTo.author) },
        ...{ content: '', timestamp: new Date(at).toISOString(), edited_timestamp: null, tts: false },
        ...{ mention_everyone: false, mentions: [], mention_roles: [], attachments: [], embeds: [] },
        ...{ pinned: false, type: 0 },
      },
    }),
  }
}

/** A slash command, or the press of a button. */
export function interactionPayload(given: {
  readonly id: string
  readonly token: string
  readonly applicationId: string
  readonly channel: LoopbackChannel
  readonly user: LoopbackUser
  readonly bot: LoopbackUser
  readonly data: object
  readonly type: 2 | 3
}) {
  const { id, token, applicationId, channel, user, bot, data, type } = given
  return {
    id,
    application_id: applicationId,
    type,
    data,
    token,
    version: 1,
    channel_id: channel.id,
    channel: channelPayload(channel, bot),
    ...(channel.serverId === null
      ? { user: userPayload(user) }
      : { guild_id: channel.serverId, member: memberPayload(user) }),
    ...(type === 3 && {
      message: messagePayload(
        { id, author: bot, text: '?', replyTo: null, at: 0, editedAt: null, attachments: [] },
        channel,
        bot,
      ),
    }),
    ...{ app_permissions: '309237713920', locale: 'en-US', entitlements: [], context: 0 },
    ...{ authorizing_integration_owners: {}, attachment_size_limit: 10_485_760 },
  }
}
