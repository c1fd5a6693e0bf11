import { ownFileOnly } from './provider-settings.ts'
import type { Section } from './section.ts'
import {
  onlyDeclared,
  readSetting,
  type SectionDeclaration,
  structuredSetting,
  valueSetting,
} from './setting.ts'
import { oneOf, positive, text } from './values.ts'

/** The section `discord`: the bot of `skein discord`. */
export interface DiscordSettings {
  /** The bot's token. Null: not set. */
  readonly token: string | null
  /** Who is answered besides the application's owner. */
  readonly allow: DiscordAllow
  /** Whether a thread starts empty, or continues from the message that it was started on. */
  readonly threadContext: 'fresh' | 'inherit'
  /** What happens to the words of a message that its author deletes. */
  readonly onDelete: 'keep' | 'erase'
  /** Most agents in memory, one for each conversation. */
  readonly maxAgents: number
  /** The system prompt. */
  readonly system: string | null
}

/** Ids of Discord. Each entry admits more people. */
export interface DiscordAllow {
  /** Everyone in these servers. */
  readonly servers: readonly string[]
  /** Everyone in these channels and their threads. */
  readonly channels: readonly string[]
  /** These people, everywhere. */
  readonly people: readonly string[]
}

export const discordDefaults: DiscordSettings = {
  token: null,
  allow: { servers: [], channels: [], people: [] },
  threadContext: 'fresh',
  onDelete: 'keep',
  maxAgents: 100,
  system: null,
}

const discordFileSettings = {
  token: {
    ...valueSetting(text, 'none', 'The token of the bot. Only in your own file. It is never shown.'),
    variables: ['DISCORD_TOKEN'],
  },
  allow: structuredSetting('a mapping', 'none', 'Who is answered besides the owner: see below.'),
  thread_context: valueSetting(
    oneOf('fresh', 'inherit'),
    discordDefaults.threadContext,
    'A thread starts empty (`fresh`), or continues from the message that it was started on (`inherit`). Nothing ' +
      'is copied: it is a branch of the conversation of its channel.',
  ),
  on_delete: valueSetting(
    oneOf('keep', 'erase'),
    discordDefaults.onDelete,
    'What happens to the words of a message that is deleted in Discord: they stay, or they are erased.',
  ),
  max_agents: valueSetting(
    positive,
    String(discordDefaults.maxAgents),
    'Most conversations that are answered at the same time. Each has an agent of its own.',
  ),
  system: valueSetting(text, 'none', 'The system prompt of all conversations in Discord.'),
}

/** The section `discord`. */
export const discordSection: SectionDeclaration = {
  path: 'discord',
  about: 'The bot of `skein discord`: [discord.md](discord.md).',
  settings: discordFileSettings,
  example: `discord:
  token: abc
  allow:
    people: ['80351110224678912']
  thread_context: inherit
  on_delete: erase
  max_agents: 100
  system: Be brief.`,
}

const ids = 'a list of ids, in quotes'

/** The section `discord.allow`. */
export const discordAllowSection: SectionDeclaration = {
  path: 'discord.allow',
  about:
    'Who is answered. Without it, only the owner of the application. Each entry admits more people, and none ' +
    'excludes any. An id is a long number, which YAML would round: put it in quotes.',
  settings: {
    servers: structuredSetting(ids, 'none', 'Everyone in these servers, when the bot is addressed there.'),
    channels: structuredSetting(ids, 'none', 'Everyone in these channels and in their threads.'),
    people: structuredSetting(ids, 'none', 'These people, in every server and in direct messages.'),
  },
  example: `discord:
  allow:
    servers: ['197038439483310086']
    channels: ['41771983423143937']
    people: ['80351110224678912']`,
}

/** Adds the section `discord` of a file to the settings of the files before. */
export function readDiscord(
  section: Section | null,
  before: DiscordSettings,
  owner: 'user' | 'project',
): DiscordSettings {
  if (section) onlyDeclared(section, discordSection)
  const mayHaveToken = owner === 'user' || !section?.has('token')
  if (!mayHaveToken) section!.refuse('token', ownFileOnly)
  const settings = discordFileSettings
  return {
    token: (mayHaveToken ? readSetting(section, 'token', settings.token) : undefined) ?? before.token,
    allow: readAllow(section?.section('allow') ?? null, before.allow),
    threadContext: readSetting(section, 'thread_context', settings.thread_context) ?? before.threadContext,
    onDelete: readSetting(section, 'on_delete', settings.on_delete) ?? before.onDelete,
    maxAgents: readSetting(section, 'max_agents', settings.max_agents) ?? before.maxAgents,
    system: readSetting(section, 'system', settings.system) ?? before.system,
  }
}

function readAllow(section: Section | null, before: DiscordAllow): DiscordAllow {
  if (section === null) return before
  onlyDeclared(section, discordAllowSection)
  const idsOf = (name: keyof DiscordAllow) => (section.has(name) ? section.ids(name) : before[name])
  return { servers: idsOf('servers'), channels: idsOf('channels'), people: idsOf('people') }
}
