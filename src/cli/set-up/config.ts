import { fullModelName } from '../../api/full-model-name.ts'
import type { Config, ValueSource } from '../../config/config.ts'
import { conversationSettings } from '../../config/conversation-settings.ts'
import type { DiscordSettings } from '../../config/discord-settings.ts'
import { numberOptions } from '../../config/model-settings.ts'
import { readConfig, shownPath } from '../../config/read-config.ts'
import type { ServerSettings } from '../../config/server-settings.ts'
import { windowOf } from '../../context/fit/model-windows.ts'
import type { ModelOptions } from '../../core/model.ts'
import type { CommandHandler } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { chooseModel } from '../model/choose-model.ts'
import { settingsOfModel } from '../model/model-settings.ts'
import { missingKey, providers } from '../model/provider-keys.ts'
import { padEnd, widthOf } from '../output/cut.ts'
import { formatCount } from '../output/number.ts'
import { tableLines } from '../output/table.ts'
import { wrap } from '../output/wrap.ts'
import { shownLocation } from '../store/store-location.ts'

/** `skein config`: prints the settings and their sources. Keys are reported as set or not set, never
 *  printed. */
export const configCommand: CommandHandler = async (args, context) => {
  const [what] = args.arguments
  if (what !== undefined && what !== 'models') {
    throw new UsageError(`config shows models, or everything; not "${what}"`, 'skein config --help')
  }
  const config = await readConfig(context.cwd, context.env)
  if (what === 'models') showModels(config, context)
  else showSettings(config, context)
  return exitCode.ok
}

function showSettings(config: Config, context: CommandContext): void {
  const { out, err } = context
  const { safe } = out.style
  const settings = settingsOf(config, context)
  const keys = providers.flatMap(({ variables }) =>
    variables.map(name => ({ name, set: Boolean(context.env[name]?.trim()) })),
  )
  const store = shownLocation(context)
  if (context.json) {
    out.line(
      JSON.stringify({
        store,
        store_from: context.location().kind,
        files: config.files,
        ignored: config.ignored,
        settings,
        keys: Object.fromEntries(keys.map(({ name, set }) => [name, set])),
      }),
    )
    return
  }
  const rows: Row[] = [
    ['', 'store', store, storeSource(context)],
    ...settings.map(({ path, value, source }): Row => {
      const dot = path.indexOf('.')
      return [path.slice(0, Math.max(0, dot)), path.slice(dot + 1), shown(path, value), source]
    }),
    ...keys.map(({ name, set }): Row => ['keys', name, set ? 'set' : 'not set', 'environment']),
  ]
  if (out.isTerminal) tellSections(rows, context)
  else {
    const line = ([section, name, ...rest]: Row) => [
      section && section !== 'keys' ? `${section}.${name}` : name,
      ...rest,
    ]
    for (const row of rows)
      out.line(
        line(row)
          .map(cell => safe(cell).replace(/\s+/g, ' '))
          .join('\t'),
      )
  }
  if (context.quiet) return
  for (const reason of config.ignored) err.line(`${err.style.note('!')} not read: ${err.style.safe(reason)}`)
  if (!keys.some(({ set }) => set)) {
    const { dots } = err.style.symbols
    const advice = [
      `no key is set. For a real model: export ANTHROPIC_API_KEY=${dots} and ask again`,
      '(or OPENAI_API_KEY, GEMINI_API_KEY; on your own machine: -m ollama/llama3.2)',
    ]
    for (const line of advice.flatMap(text => wrap(text, err.width))) err.line(line)
  }
}

/** A setting and its section. */
type Row = readonly [section: string, name: string, value: string, source: string]

/** Below this width, a value is printed under its name. */
const narrow = 64

/** Prints the settings by section, as in the file. Long lines are wrapped. */
function tellSections(rows: readonly Row[], { out }: CommandContext): void {
  const { safe, faint, title, symbols } = out.style
  const cell = (text: string) => safe(text).replace(/\s+/g, ' ')
  for (const [section, members] of Map.groupBy(rows, ([name]) => name)) {
    if (section !== '') out.line(title(section))
    const indent = section === '' ? '' : '  '
    // The values of all sections start at the same column, if the names allow it.
    const width = Math.max(30 - indent.length, ...members.map(([, name]) => widthOf(cell(name))))
    for (const [, name, value, source] of members) {
      if (out.width < narrow) {
        out.line(`${indent}${cell(name)}`)
        const lines = wrap(`${cell(value)} ${symbols.dot} ${cell(source)}`, out.width - indent.length - 2)
        for (const line of lines) out.line(`${indent}  ${line}`)
        continue
      }
      const isLong = widthOf(cell(value)) > 24
      const start = `${indent}${padEnd(cell(name), width)}  ${isLong ? cell(value) : padEnd(cell(value), 24)}`
      const fits = widthOf(start) + 2 + widthOf(cell(source)) <= out.width
      out.line(fits ? `${start}  ${faint(cell(source))}` : start.trimEnd())
      if (!fits) out.line(`${indent}${' '.repeat(width + 2)}${faint(cell(source))}`)
    }
  }
}

function shown(path: string, value: string | number | boolean | null): string {
  if (value !== null) return String(value)
  return path === 'model' ? 'chosen by which key is set; none set: the demo model' : 'off'
}

function storeSource(context: CommandContext): string {
  const { kind } = context.location()
  if (kind === 'project') return '.skein/ above you'
  if (kind === 'user') return 'your data folder'
  return context.env.SKEIN_DB ? '--db or SKEIN_DB' : '--db'
}

/** Short names that need no configuration. */
const shortNames = ['sonnet', 'opus', 'haiku', 'gpt', 'gemini']

function showModels(config: Config, context: CommandContext): void {
  const { out } = context
  const chosen = chooseModel({ arguments: [], options: {} }, context.env, config)
  const named = new Map<string, string>()
  for (const name of [...shortNames, ...Object.keys(config.models)])
    named.set(name, fullModelName(name, config.models))
  const models = [...named].map(([name, id]) => entryOf(name, id))
  const others = providers.map(({ example }) => example).filter(id => !models.some(model => model.id === id))
  models.push(...others.map(id => entryOf(id, id)), entryOf('scripted', 'scripted'))
  if (context.json) {
    out.line(JSON.stringify(models))
    return
  }
  const { safe } = out.style
  const rows = models.map(({ name, id, window, missing_key, is_default }) =>
    [
      is_default ? '*' : '',
      name === id && out.isTerminal ? '' : name,
      id,
      formatCount(window),
      missing_key === null ? '' : `needs ${missing_key}`,
    ].map(safe),
  )
  if (!out.isTerminal) for (const row of rows) out.line(row.join('\t'))
  else {
    const columns = [
      {},
      { header: 'NAME', gap: ' ', paint: out.style.title },
      { header: 'MODEL', shrinksTo: 12 },
      { header: 'WINDOW', align: 'right' },
      { header: 'KEY', shrinksTo: 12, drops: true },
    ] as const
    const options = { dots: out.style.symbols.dots, paintHeader: out.style.faint }
    for (const line of tableLines(rows, columns, out.width, options)) out.line(line)
  }
  if (context.quiet || !out.isTerminal) return
  context.err.line(`* is asked when none is named. Any other: -m ${providers[0]!.example}`)

  function entryOf(name: string, id: string) {
    const window = settingsOfModel(config, id).window ?? windowOf(id).limit
    return { name, id, window, missing_key: missingKey(id, context.env), is_default: id === chosen.id }
  }
}

/** An effective setting. */
interface Setting {
  /** As in the file: `conversation.max_tokens`. */
  readonly path: string
  readonly value: string | number | boolean | null
  readonly source: string
}

/** All settings with their sources. MCP servers and agents show only the command or the URL: arguments,
 *  variables and headers may contain secrets. */
function settingsOf(config: Config, context: Pick<CommandContext, 'cwd' | 'env'>): readonly Setting[] {
  const { model, models, modelSettings, options, conversation, channels } = config
  const { projects, mcp, agents, acp, tools, subagents, server } = config
  const settings: [path: string, value: Setting['value'], sourcePath?: string][] = [['model', model]]
  for (const [name, id] of Object.entries(models)) settings.push([`models.${name}`, id])
  for (const [name, { window, price, options: own }] of Object.entries(modelSettings)) {
    const path = `models.${name}`
    if (window !== null) settings.push([`${path}.window`, window])
    settings.push(...optionRows(path, own))
    if (price !== null) settings.push([`${path}.price`, `$${price.input} in, $${price.output} out`, path])
  }
  settings.push(...optionRows('options', options))
  for (const { field, name } of conversationSettings) {
    const value = conversation[field]
    settings.push([
      `conversation.${name}`,
      field.endsWith('Ms')
        ? durationText(value as number | null)
        : typeof value === 'object' && value !== null
          ? value.truncate
          : value,
    ])
  }
  for (const [name, { expirationMs }] of Object.entries(channels)) {
    settings.push([`channels.${name}.expiration`, durationText(expirationMs), `channels.${name}`])
  }
  for (const [name, { conversations }] of Object.entries(projects)) {
    settings.push([`projects.${name}.conversations`, conversations ? 'on' : 'off', `projects.${name}`])
  }
  for (const [name, server] of Object.entries(mcp)) {
    settings.push([`mcp.${name}`, 'url' in server ? withoutSecrets(server.url) : server.command])
  }
  for (const [name, agent] of Object.entries(agents))
    settings.push([`agents.${name}`, 'command' in agent ? agent.command : agent.model])
  settings.push(['acp.tell', acp.tell], ['acp.summarize', acp.summarize ? 'on' : 'off'])
  settings.push(['tools.recall', tools.recall ? 'on' : 'off'])
  if (tools.allow.length > 0) settings.push(['tools.allow', tools.allow.join(', ')])
  settings.push(...serverRows(server), ...discordRows(config.discord))
  for (const [name, { description }] of Object.entries(subagents))
    settings.push([`subagents.${name}`, description])
  return settings.map(([path, value, from]) => {
    return { path, value, source: sourceText(config.sources[from ?? path] ?? { kind: 'default' }, context) }
  })
}

function optionRows(path: string, options: ModelOptions): [path: string, value: Setting['value']][] {
  const rows: [string, Setting['value']][] = []
  for (const [name, { field }] of Object.entries(numberOptions)) {
    const value = options[field]
    if (value !== undefined) rows.push([`${path}.${name}`, value])
  }
  if (options.stop) rows.push([`${path}.stop`, options.stop.join(', ')])
  if (options.providerOptions)
    rows.push([`${path}.provider_options`, Object.keys(options.providerOptions).join(', ')])
  return rows
}

function sourceText(source: ValueSource, { cwd, env }: Pick<CommandContext, 'cwd' | 'env'>): string {
  switch (source.kind) {
    case 'default':
      return 'default'
    case 'environment':
      return source.variable
    case 'file':
      return `${shownPath(source.file, cwd, env)}:${source.line}`
  }
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

function withoutSecrets(address: string): string {
  const url = new URL(address)
  return `${url.protocol}//${url.host}${url.pathname}`
}

/** The settings of the HTTP service, of which those without a default are shown if they are set. */
function serverRows({
  listen,
  publicUrl,
  hosts,
  maxTurns,
  logLevel,
}: ServerSettings): [path: string, value: Setting['value']][] {
  const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host
  return [
    ['server.listen', `${host}:${listen.port}`],
    ...(publicUrl === null ? [] : [['server.public_url', publicUrl] as [string, string]]),
    ...(hosts.length === 0 ? [] : [['server.hosts', hosts.join(', ')] as [string, string]]),
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
}: DiscordSettings): [path: string, value: Setting['value']][] {
  const lists = Object.entries(allow).filter(([, ids]) => ids.length > 0)
  return [
    ...(token === null ? [] : [['discord.token', 'set'] as [string, string]]),
    ...lists.map(([name, ids]): [string, string] => [`discord.allow.${name}`, ids.join(', ')]),
    ['discord.thread_context', threadContext],
    ['discord.on_delete', onDelete],
    ['discord.max_agents', maxAgents],
    ...(system === null ? [] : [['discord.system', system] as [string, string]]),
  ]
}
