import type { ConversationSettings } from './config.ts'
import { type SectionDeclaration, type ValueSetting, valueSetting } from './setting.ts'
import { duration, oneOf, onOrOff, orOff, positive, text, toolResultPolicy } from './values.ts'

/** One setting of the section `conversation`, under the name that the origin documents use. */
export interface ConversationSetting<K extends keyof ConversationSettings = keyof ConversationSettings>
  extends ValueSetting<ConversationSettings[K]> {
  readonly field: K
  readonly name: string
}

/** All settings of the section, in the order of the origin documents. */
export const conversationSettings: readonly ConversationSetting[] = [
  {
    field: 'sessionExpirationMs',
    name: 'session_expiration',
    ...valueSetting(
      duration,
      '24h',
      'How long a conversation that is created for a task is continued after its last activity. After that a ' +
        'new one is created for the task, and a sweep (`skein gc`, `skein serve`) moves the old one to the trash.',
    ),
  },
  {
    field: 'expirationFrom',
    name: 'expiration_from',
    ...valueSetting(
      oneOf('activity', 'creation'),
      'activity',
      'Whether that time counts from the last activity of the conversation, or from its creation.',
    ),
  },
  {
    field: 'cleanupIntervalMs',
    name: 'cleanup_interval',
    ...valueSetting(
      duration,
      '1h',
      'How often `skein serve` and `skein dispatch work` sweep: they move expired conversations of tasks to the trash, and delete what ' +
        'has been there for 7 days. The other commands sweep only with `skein gc`.',
    ),
  },
  {
    field: 'archive',
    name: 'archive',
    ...valueSetting(
      orOff(text),
      'off',
      'A folder for expired conversations of tasks: before a sweep moves one to the trash, it is written there ' +
        'as `<id>.jsonl` in the native format, which `skein import` reads. A relative folder is below the file ' +
        'that names it. The file of a project may name only a folder of the project.',
    ),
  },
  {
    field: 'tokenStrategy',
    name: 'token_strategy',
    ...valueSetting(
      oneOf('sliding_window', 'summarization'),
      'sliding_window',
      'What happens to messages that do not fit into the window of the model: they are left out, or a summary ' +
        'is sent in their place. They stay stored in both cases.',
    ),
  },
  {
    field: 'maxTokens',
    name: 'max_tokens',
    ...valueSetting(
      orOff(positive),
      'none',
      'Most tokens of a model call, for any size of window. Without it, 0.8 of the window is used.',
    ),
  },
  {
    field: 'keepRecentMessages',
    name: 'keep_recent_messages',
    ...valueSetting(
      positive,
      '10',
      'The newest messages, which are sent whole if they fit, and not summarised.',
    ),
  },
  {
    field: 'maxMessages',
    name: 'max_messages',
    ...valueSetting(orOff(positive), 'off', 'Most messages of a model call.'),
  },
  {
    field: 'maxAgeMs',
    name: 'max_age',
    ...valueSetting(
      orOff(duration),
      'off',
      'Leaves exchanges out of a model call that ended this long before the newest message. A summary of them is ' +
        'still sent. The messages stay stored.',
    ),
  },
  {
    field: 'loadLimit',
    name: 'load_limit',
    ...valueSetting(
      orOff(positive),
      'off',
      'Most messages to read from the store for a model call. The newest turn is read as a whole.',
    ),
  },
  {
    field: 'toolResults',
    name: 'tool_results',
    ...valueSetting(
      toolResultPolicy,
      'full',
      'How new conversations store the results of tools: whole, without their content, or cut.',
    ),
  },
]

/** The environment variable that overrides a setting of the section: `SKEIN_MAX_TOKENS`. */
export function variableOf({ name }: Pick<ConversationSetting, 'name'>): string {
  return `SKEIN_${name.toUpperCase()}`
}

/** The section `conversation`. */
export const conversationSection: SectionDeclaration = {
  path: 'conversation',
  about:
    'How long conversations are continued, and what a model call gets of them. Each setting can also be given ' +
    'as an environment variable: `SKEIN_` and its name in capitals, such as `SKEIN_MAX_TOKENS=100000`.',
  settings: Object.fromEntries(
    conversationSettings.map(one => [one.name, { ...one, variables: [variableOf(one)] }]),
  ),
  example: `conversation:
  session_expiration: 24h
  expiration_from: activity
  cleanup_interval: 1h
  archive: off
  token_strategy: summarization
  max_tokens: 100_000
  keep_recent_messages: 10
  max_messages: 500
  max_age: 90d
  load_limit: 1000
  tool_results: 20000`,
}

/** The settings of a channel. */
export const channelSettings = {
  expiration: valueSetting(
    orOff(duration),
    'off',
    'How long a new conversation of the channel is continued after its last activity. After that, a prompt ' +
      'begins a new one. The old one is not deleted: its id still works and renews it. A conversation of a ' +
      'task has `session_expiration` instead.',
  ),
}

/** The sections of channels. */
export const channelSection: SectionDeclaration = {
  path: 'channels.<name>',
  about:
    'A channel is a place where people talk to an agent: `cli` is the command, `acp` an editor, `discord` the bot. `skein ls ' +
    '--json` shows the channel of each conversation.',
  settings: channelSettings,
  example: `channels:
  cli:
    expiration: 30d`,
}

/** The settings of a project. */
export const projectSettings = {
  conversations: valueSetting(
    onOrOff,
    'on',
    'Whether the tasks of the project have conversations in `skein dispatch work` and `skein serve --workers`. Off: each task is a single model call.',
  ),
}

/** The sections of projects. */
export const projectSection: SectionDeclaration = {
  path: 'projects.<name>',
  about: 'A project, as `skein set --project` names it.',
  settings: projectSettings,
  example: `projects:
  gateway:
    conversations: off`,
}
