import { foreignAgentSection, ownAgentSection, readAgent } from './agent-settings.ts'
import type { AddressSettings, Config, ProgramSettings } from './config.ts'
import {
  channelSection,
  channelSettings,
  conversationSection,
  conversationSettings,
  projectSection,
  projectSettings,
} from './conversation-settings.ts'
import { discordAllowSection, discordSection, readDiscord } from './discord-settings.ts'
import {
  modelSection,
  optionSection,
  priceSection,
  readModelSettings,
  readOptions,
} from './model-settings.ts'
import { programSettings, readProgram } from './program-settings.ts'
import { ownFileOnly, providerSection, readProviders } from './provider-settings.ts'
import type { Section } from './section.ts'
import { readServer, serverSection } from './server-settings.ts'
import {
  onlyDeclared,
  readSetting,
  type SectionDeclaration,
  structuredSetting,
  valueSetting,
} from './setting.ts'
import { readSubagent, readTools, subagentSection, toolSection } from './tool-settings.ts'
import { address, onOrOff, text, wholeNumberFrom } from './values.ts'

const fileSettings = {
  model: {
    ...valueSetting(
      text,
      'the built-in one',
      'The model of new conversations: `provider/model`, or an alias. `-m` overrides it.',
    ),
    variables: ['SKEIN_MODEL'],
  },
}

/** The settings of the file itself. */
const fileSection: SectionDeclaration = {
  path: '',
  about: '',
  settings: fileSettings,
  example: 'model: anthropic/claude-sonnet-5-5',
}

const addressSettings = {
  url: valueSetting(address, null, 'The address of the server.'),
  headers: structuredSetting(
    'a mapping of names to texts',
    'none',
    'Headers of every request, such as `Authorization`.',
  ),
}

/** The sections of MCP servers that are programs. */
const mcpProgramSection: SectionDeclaration = {
  path: 'mcp.<name>',
  about:
    'An MCP server whose tools the model may use: a program that is started and used over stdin and stdout. Of ' +
    'the environment it gets the basic variables, such as `PATH` and `HOME`, and `env`. A server of a project’s file ' +
    'is started only if you trust the file: a terminal asks, and `skein config trust` answers beforehand. Your own ' +
    'server of the same name is used instead of it.',
  settings: programSettings,
  example: `mcp:
  files:
    command: npx
    args: [-y, '@modelcontextprotocol/server-filesystem', .]
    env:
      LOG_LEVEL: error
    cwd: /home/ada/work`,
}

/** The sections of MCP servers at an address. */
const mcpAddressSection: SectionDeclaration = {
  path: 'mcp.<name>',
  about: 'Or a server at an address, over HTTP. A member with `url` is one.',
  settings: addressSettings,
  example: `mcp:
  search:
    url: https://mcp.example.org/
    headers:
      Authorization: Bearer abc`,
}

const acpFileSettings = {
  tell: valueSetting(
    wholeNumberFrom(1_000),
    '24000',
    'Most tokens of a conversation that an agent is told if it does not know it: another agent, a fork, or one that forgets. `--tell` overrides it.',
  ),
  summarize: valueSetting(
    onOrOff,
    'off',
    'Whether a conversation of more than 20 messages is summarized for its next agent: by the agent that leaves, before its process ends, else by the `model` of this file or the one whose key is set. Each summary costs a model call; it is stored and used again.',
  ),
  recall: valueSetting(
    onOrOff,
    'on',
    'Whether an agent that is told a conversation also gets `skein mcp --conversation <id>` as an MCP server, to search and read the rest. Only with a store that is a file.',
  ),
}

/** The section of hand-overs. */
const acpSection: SectionDeclaration = {
  path: 'acp',
  about: 'How agents of other programs get their memory, in `skein agent` and `skein acp`.',
  settings: acpFileSettings,
  example: `acp:
  tell: 48000
  summarize: on
  recall: off`,
}

/** All sections of `skein.yaml`, in the order of `docs/config.md`. */
export const sectionDeclarations: readonly SectionDeclaration[] = [
  fileSection,
  providerSection,
  modelSection,
  priceSection,
  optionSection,
  conversationSection,
  channelSection,
  projectSection,
  mcpProgramSection,
  mcpAddressSection,
  foreignAgentSection,
  ownAgentSection,
  acpSection,
  toolSection,
  subagentSection,
  serverSection,
  discordSection,
  discordAllowSection,
]

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** The settings of the files so far: later files overwrite earlier ones, setting by setting. */
export type Draft = Mutable<Omit<Config, 'sources' | 'files' | 'ignored' | 'shadowed'>>

/** Whose file it is: the user's own, or that of a project, which may come with a clone. */
export type FileOwner = 'user' | 'project'

/** The names that the file itself may have: its settings and the first part of each section's path. */
const fileNames = [
  ...Object.keys(fileSettings),
  ...new Set(sectionDeclarations.flatMap(({ path }) => (path === '' ? [] : path.split('.', 1)))),
]

/** Adds a file's settings. Every problem is reported to the section; valid settings still apply. Returns the
 *  members that are not used, because the user's own file has them: a project must not replace a program that
 *  the user knows by its name. */
export function takeSections(root: Section, draft: Draft, owner: FileOwner): readonly string[] {
  const shadowed: string[] = []
  const isTaken = (section: 'mcp' | 'agents', name: string) => {
    const isUsers = owner === 'project' && Object.hasOwn(draft[section], name)
    if (isUsers) shadowed.push(`${section}.${name}`)
    return isUsers
  }
  root.only(...fileNames)
  draft.model = readSetting(root, 'model', fileSettings.model) ?? draft.model
  if (owner === 'user') draft.providers = readProviders(root, draft.providers)
  else if (root.has('providers')) root.refuse('providers', ownFileOnly)
  takeModels(root, draft)
  const options = root.section('options')
  if (options) draft.options = { ...draft.options, ...readOptions(options) }
  takeConversation(root.section('conversation'), draft)
  for (const [name, section] of root.sections('channels')) {
    onlyDeclared(section, channelSection)
    const expirationMs = readSetting(section, 'expiration', channelSettings.expiration)
    if (expirationMs !== undefined) draft.channels = { ...draft.channels, [name]: { expirationMs } }
  }
  for (const [name, section] of root.sections('projects')) {
    onlyDeclared(section, projectSection)
    const conversations = readSetting(section, 'conversations', projectSettings.conversations)
    if (conversations !== undefined) draft.projects = { ...draft.projects, [name]: { conversations } }
  }
  for (const [name, section] of root.sections('mcp')) {
    const server = readMcpServer(section)
    if (server && !isTaken('mcp', name)) draft.mcp = { ...draft.mcp, [name]: server }
  }
  for (const [name, section] of root.sections('agents')) {
    const agent = readAgent(section, name)
    if (agent && !isTaken('agents', name)) draft.agents = { ...draft.agents, [name]: agent }
  }
  takeAcp(root.section('acp'), draft)
  draft.tools = readTools(root.section('tools'), draft.tools)
  draft.server = readServer(root.section('server'), draft.server)
  draft.discord = readDiscord(root.section('discord'), draft.discord, owner)
  for (const [name, section] of root.sections('subagents')) {
    const subagent = readSubagent(section)
    if (subagent) draft.subagents = { ...draft.subagents, [name]: subagent }
  }
  return shadowed
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
  if (section) onlyDeclared(section, conversationSection)
  for (const one of conversationSettings) {
    const value = readSetting(section, one.name, one)
    if (value !== undefined) draft.conversation = { ...draft.conversation, [one.field]: value }
  }
}

function takeAcp(section: Section | null, draft: Draft): void {
  if (!section) return
  onlyDeclared(section, acpSection)
  const tell = readSetting(section, 'tell', acpFileSettings.tell)
  const summarize = readSetting(section, 'summarize', acpFileSettings.summarize)
  const recall = readSetting(section, 'recall', acpFileSettings.recall)
  if (tell !== undefined) draft.acp = { ...draft.acp, tell }
  if (summarize !== undefined) draft.acp = { ...draft.acp, summarize }
  if (recall !== undefined) draft.acp = { ...draft.acp, recall }
}

/** Reads `mcp.<name>`. */
function readMcpServer(section: Section): ProgramSettings | AddressSettings | undefined {
  if (!section.has('url')) {
    onlyDeclared(section, mcpProgramSection)
    return readProgram(section)
  }
  onlyDeclared(section, mcpAddressSection)
  const url = section.needed('url', addressSettings.url.reader)
  return url === undefined ? undefined : { url, headers: Object.fromEntries(section.texts('headers')) }
}
