import type { AddressSettings, Config, ConversationSettings, ProgramSettings } from './config.ts'
import { readModelSettings, readOptions } from './model-settings.ts'
import type { Section } from './section.ts'
import { readSubagent, readTools } from './tool-settings.ts'
import {
  address,
  duration,
  oneOf,
  onOrOff,
  orOff,
  positive,
  type Reader,
  text,
  toolResultPolicy,
} from './values.ts'

/** One setting of the section `conversation`, under the name that the origin documents use. */
export interface ConversationSetting<K extends keyof ConversationSettings = keyof ConversationSettings> {
  readonly field: K
  readonly name: string
  readonly reader: Reader<ConversationSettings[K]>
}

/** All settings of the section, in the order of the origin documents. */
export const conversationSettings: readonly ConversationSetting[] = [
  { field: 'sessionExpirationMs', name: 'session_expiration', reader: duration },
  { field: 'expirationFrom', name: 'expiration_from', reader: oneOf('activity', 'creation') },
  { field: 'cleanupIntervalMs', name: 'cleanup_interval', reader: duration },
  { field: 'tokenStrategy', name: 'token_strategy', reader: oneOf('sliding_window', 'summarization') },
  { field: 'maxTokens', name: 'max_tokens', reader: orOff(positive) },
  { field: 'keepRecentMessages', name: 'keep_recent_messages', reader: positive },
  { field: 'maxMessages', name: 'max_messages', reader: orOff(positive) },
  { field: 'maxAgeMs', name: 'max_age', reader: orOff(duration) },
  { field: 'loadLimit', name: 'load_limit', reader: orOff(positive) },
  { field: 'toolResults', name: 'tool_results', reader: toolResultPolicy },
]

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** The settings of the files so far: later files overwrite earlier ones, setting by setting. */
export type Draft = Mutable<Omit<Config, 'sources' | 'files' | 'ignored'>>

const sectionNames = [
  ...['model', 'models', 'options', 'conversation', 'channels', 'projects', 'mcp', 'agents'],
  ...['tools', 'subagents'],
]

/** Adds a file's settings. Every problem is reported to the section; valid settings count all the same. */
export function takeSections(root: Section, draft: Draft): void {
  root.only(...sectionNames)
  draft.model = root.value('model', text, 'the built-in one') ?? draft.model
  takeModels(root, draft)
  const options = root.section('options')
  if (options) draft.options = { ...draft.options, ...readOptions(options) }
  takeConversation(root.section('conversation'), draft)
  for (const [name, section] of root.sections('channels')) {
    section.only('expiration')
    const expirationMs = section.value('expiration', orOff(duration), 'off')
    if (expirationMs !== undefined) draft.channels = { ...draft.channels, [name]: { expirationMs } }
  }
  for (const [name, section] of root.sections('projects')) {
    section.only('conversations')
    const conversations = section.value('conversations', onOrOff, 'on')
    if (conversations !== undefined) draft.projects = { ...draft.projects, [name]: { conversations } }
  }
  for (const [name, section] of root.sections('mcp')) {
    const server = section.has('url') ? addressOf(section) : programOf(section)
    if (server) draft.mcp = { ...draft.mcp, [name]: server }
  }
  for (const [name, section] of root.sections('agents')) {
    const agent = programOf(section)
    if (agent) draft.agents = { ...draft.agents, [name]: agent }
  }
  draft.tools = readTools(root.section('tools'), draft.tools)
  for (const [name, section] of root.sections('subagents')) {
    const subagent = readSubagent(section)
    if (subagent) draft.subagents = { ...draft.subagents, [name]: subagent }
  }
}

/** A text is an alias; a mapping has the settings of a model, and may name the model of an alias. */
function takeModels(root: Section, draft: Draft): void {
  for (const [name, given] of root.textsOrSections('models')) {
    const { model, ...settings } = typeof given === 'string' ? { model: given } : readModelSettings(given)
    if (model !== null) draft.models = { ...draft.models, [name]: model }
    if ('options' in settings) draft.modelSettings = { ...draft.modelSettings, [name]: settings }
  }
}

function takeConversation(section: Section | null, draft: Draft): void {
  section?.only(...conversationSettings.map(({ name }) => name))
  for (const { field, name, reader } of conversationSettings) {
    const value = section?.value(name, reader, defaultText[field])
    if (value !== undefined) draft.conversation = { ...draft.conversation, [field]: value }
  }
}

/** The defaults in the notation of the file. */
export const defaultText: Readonly<Record<keyof ConversationSettings, string>> = {
  sessionExpirationMs: '24h',
  expirationFrom: 'activity',
  cleanupIntervalMs: '1h',
  tokenStrategy: 'sliding_window',
  maxTokens: 'none',
  keepRecentMessages: '10',
  maxMessages: 'off',
  maxAgeMs: 'off',
  loadLimit: 'off',
  toolResults: 'full',
}

function programOf(section: Section): ProgramSettings | undefined {
  section.only('command', 'args', 'env', 'cwd')
  const command = section.needed('command', text)
  if (command === undefined) return undefined
  const cwd = section.value('cwd', text)
  return {
    command,
    args: section.list('args'),
    env: Object.fromEntries(section.texts('env')),
    ...(cwd !== undefined && { cwd }),
  }
}

function addressOf(section: Section): AddressSettings | undefined {
  section.only('url', 'headers')
  const url = section.needed('url', address)
  return url === undefined ? undefined : { url, headers: Object.fromEntries(section.texts('headers')) }
}
