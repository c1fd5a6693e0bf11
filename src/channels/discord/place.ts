/** A place in Discord where people talk to the bot. Each has a conversation of its own. */
export type DiscordPlace =
  | {
      readonly kind: 'dm'
      /** The person on the other side. */
      readonly userId: string
    }
  | { readonly kind: 'channel'; readonly channelId: string; readonly serverId: string }
  | {
      readonly kind: 'thread'
      readonly threadId: string
      /** The channel that the thread belongs to. */
      readonly channelId: string
      readonly serverId: string
    }

/** The key of the place's conversation. */
export function keyOfPlace(place: DiscordPlace): string {
  switch (place.kind) {
    case 'dm':
      return `discord:dm:${place.userId}`
    case 'channel':
      return `discord:channel:${place.channelId}`
    case 'thread':
      return `discord:thread:${place.threadId}`
  }
}

/** The key of the turn that a message begins. Discord's ids are unique, so a message that is delivered twice
 *  is one turn. */
export function discordTurnKey(messageId: string): string {
  return `discord:${messageId}`
}

/** The id of the message that began a turn. Null if the turn was not begun in Discord. */
export function messageIdOf(turnKey: string): string | null {
  return /^discord:(\d+)$/.exec(turnKey)?.[1] ?? null
}

/** Ids contain their time: whether the message or thread `a` is older than `b`. */
export function isOlder(a: string, b: string): boolean {
  return a.length === b.length ? a < b : a.length < b.length
}

/** The metadata of a conversation of Discord. Lists filter by these fields, so they are not nested. */
export interface PlaceMetadata {
  /** The key of the place, also after another conversation has taken the key. */
  readonly discord_place: string
  /** What `/search` and recall may not leave: a server, or one direct message. */
  readonly discord_scope: string
  /** The channel or thread that a person must be able to see. Null for a direct message. */
  readonly discord_channel: string | null
  /** The command that began this conversation. Older messages may belong to the one before. */
  readonly discord_since?: string
}

/** The scope of a place: its server, or the direct message itself. */
export function scopeOfPlace(place: DiscordPlace): string {
  return place.kind === 'dm' ? keyOfPlace(place) : `discord:server:${place.serverId}`
}

export function placeMetadataOf(place: DiscordPlace, since?: string): PlaceMetadata {
  const channel = place.kind === 'dm' ? null : place.kind === 'thread' ? place.threadId : place.channelId
  return {
    discord_place: keyOfPlace(place),
    discord_scope: scopeOfPlace(place),
    discord_channel: channel,
    ...(since !== undefined && { discord_since: since }),
  }
}
