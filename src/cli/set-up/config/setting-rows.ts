import type { Config, ValueSource } from '../../../config/config.ts'
import { conversationSettings } from '../../../config/conversation-settings.ts'
import type { DiscordSettings } from '../../../config/discord-settings.ts'
import { numberOptions } from '../../../config/model-settings.ts'
import { shownPath } from '../../../config/read-config.ts'
import type { ServerSettings } from '../../../config/server-settings.ts'
import type { ModelOptions } from '../../../core/model.ts'
import type { CommandContext } from '../../command-line/command-context.ts'
import { tildify } from '../../output/tildify.ts'

/** An effective setting. */
export interface SettingRow {
  /** As in the file: `conversation.max_tokens`. */
  readonly path: string
  readonly value: string | number | boolean | null
  readonly source: string
  readonly isDefault: boolean
}

type Pair = readonly [path: string, value: SettingRow['value']]

/** All settings with their sources. MCP servers and agents show only the command or the URL: arguments,
 *  variables and headers may contain secrets. Keys are not shown either. */
export function settingRows(
  config: Config,
  context: Pick<CommandContext, 'cwd' | 'env'>,
): readonly SettingRow[] {
  const { conversation, channels, projects, mcp, agents, acp, tools, subagents, server } = config
  const pairs: Pair[] = [['model', config.model], ...providerRows(config), ...modelRows(config)]
  pairs.push(...optionRows('options', config.options))
  for (const { field, name } of conversationSettings)
    pairs.push([`conversation.${name}`, conversationValue(field, conversation[field])])
  for (const [name, { expirationMs }] of Object.entries(channels))
    pairs.push([`channels.${name}.expiration`, durationText(expirationMs)])
  for (const [name, { conversations }] of Object.entries(projects))
    pairs.push([`projects.${name}.conversations`, onOff(conversations)])
  for (const [name, one] of Object.entries(mcp))
    pairs.push([`mcp.${name}`, 'url' in one ? withoutSecrets(one.url) : one.command])
  for (const [name, agent] of Object.entries(agents))
    pairs.push([`agents.${name}`, 'command' in agent ? agent.command : agent.model])
  pairs.push(
    ['acp.tell', acp.tell],
    ['acp.summarize', onOff(acp.summarize)],
    ['acp.recall', onOff(acp.recall)],
    ['tools.recall', onOff(tools.recall)],
  )
  for (const name of ['allow', 'ask'] as const)
    if (tools[name].length > 0) pairs.push([`tools.${name}`, tools[name].join(', ')])
  pairs.push(...serverRows(server), ...discordRows(config.discord))
  for (const [name, { description }] of Object.entries(subagents))
    pairs.push([`subagents.${name}`, description])
  return pairs.map(([path, value]) => {
    const source = config.sources[path] ?? { kind: 'default' }
    return { path, value, source: sourceText(source, context), isDefault: source.kind === 'default' }
  })
}

/** Where a value comes from: `default`, a variable, or a file with the line. */
export function sourceText(source: ValueSource, { cwd, env }: Pick<CommandContext, 'cwd' | 'env'>): string {
  switch (source.kind) {
    case 'default':
      return 'default'
    case 'environment':
      return source.variable
    case 'file':
      return `${shownPath(source.file, cwd, env)}:${source.line}`
    case 'stored':
      return tildify(source.file, env)
  }
}

/** A value in words. */
export function shownValue({ path, value }: Pick<SettingRow, 'path' | 'value'>): string {
  if (value !== null) return String(value)
  return path === 'model' ? 'chosen by which key is set; none set: the demo model' : 'off'
}

function providerRows({ providers }: Config): readonly Pair[] {
  return Object.entries(providers).flatMap(([name, { key, baseUrl }]) => [
    ...(key === null ? [] : [[`providers.${name}.key`, 'set'] as const]),
    ...(baseUrl === null ? [] : [[`providers.${name}.base_url`, withoutSecrets(baseUrl)] as const]),
  ])
}

function modelRows({ models, modelSettings, sources }: Config): readonly Pair[] {
  const rows: Pair[] = []
  for (const [name, id] of Object.entries(models)) {
    // An alias is a text, or the setting `model` of a mapping.
    const isMapping = sources[`models.${name}.model`] !== undefined
    rows.push([isMapping ? `models.${name}.model` : `models.${name}`, id])
  }
  for (const [name, { window, price, options }] of Object.entries(modelSettings)) {
    const path = `models.${name}`
    if (window !== null) rows.push([`${path}.window`, window])
    rows.push(...optionRows(path, options))
    if (price === null) continue
    const { input, output, cacheRead, cacheWrite } = price
    rows.push([`${path}.price.input`, input], [`${path}.price.output`, output])
    if (cacheRead !== undefined) rows.push([`${path}.price.cache_read`, cacheRead])
    if (cacheWrite !== undefined) rows.push([`${path}.price.cache_write`, cacheWrite])
  }
  return rows
}

function optionRows(path: string, options: ModelOptions): readonly Pair[] {
  const rows: Pair[] = []
  for (const [name, { field }] of Object.entries(numberOptions)) {
    const value = options[field]
    if (value !== undefined) rows.push([`${path}.${name}`, value])
  }
  if (options.stop) rows.push([`${path}.stop`, options.stop.join(', ')])
  if (options.providerOptions)
    rows.push([`${path}.provider_options`, Object.keys(options.providerOptions).join(', ')])
  return rows
}

function conversationValue(
  field: keyof Config['conversation'],
  value: Config['conversation'][keyof Config['conversation']],
): SettingRow['value'] {
  if (field.endsWith('Ms')) return durationText(value as number | null)
  return typeof value === 'object' && value !== null ? value.truncate : value
}

/** In the largest unit without a remainder. */
function durationText(ms: number | null): string | null {
  if (ms === null) return null
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1_000],
  ] as const
  const unit = units.find(([, size]) => ms % size === 0)
  // Up to a day in hours, as in the documentation.
  if (unit?.[0] === 'd' && ms <= 86_400_000) return `${ms / 3_600_000}h`
  return unit ? `${ms / unit[1]}${unit[0]}` : `${ms}ms`
}

function onOff(value: boolean): string {
  return value ? 'on' : 'off'
}

function withoutSecrets(address: string): string {
  const url = new URL(address)
  return `${url.protocol}//${url.host}${url.pathname}`
}

/** The settings of the HTTP service, of which those without a default are shown if they are set. */
function serverRows({ listen, publicUrl, hosts, maxTurns, logLevel }: ServerSettings): readonly Pair[] {
  const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host
  return [
    ['server.listen', `${host}:${listen.port}`],
    ...(publicUrl === null ? [] : [['server.public_url', publicUrl] as const]),
    ...(hosts.length === 0 ? [] : [['server.hosts', hosts.join(', ')] as const]),
    ['server.max_turns', maxTurns],
    ['server.log_level', logLevel],
  ]
}

/** The settings of the Discord bot. The token is reported as set, never printed. */
function discordRows({
  token,
  allow,
  threadContext,
  onDelete,
  maxAgents,
  system,
}: DiscordSettings): readonly Pair[] {
  const lists = Object.entries(allow).filter(([, ids]) => ids.length > 0)
  return [
    ...(token === null ? [] : [['discord.token', 'set'] as const]),
    ...lists.map(([name, ids]) => [`discord.allow.${name}`, ids.join(', ')] as const),
    ['discord.thread_context', threadContext],
    ['discord.on_delete', onDelete],
    ['discord.max_agents', maxAgents],
    ...(system === null ? [] : [['discord.system', system] as const]),
  ]
}
