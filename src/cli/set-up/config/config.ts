import type { Config } from '../../../config/config.ts'
import { findSetting } from '../../../config/find-setting.ts'
import { readConfig, shownPath, userConfigFile } from '../../../config/read-config.ts'
import { modelName } from '../../../core/model-name.ts'
import { type CommandHandler, hasOption } from '../../command-line/command.ts'
import type { CommandContext } from '../../command-line/command-context.ts'
import { exitCode } from '../../command-line/exit-code.ts'
import { chooseModel } from '../../model/choose-model.ts'
import { type KeySource, keySource, type ModelProvider, providers } from '../../model/provider-keys.ts'
import { padEnd, widthOf } from '../../output/cut.ts'
import { noteLine } from '../../output/print.ts'
import { tildify } from '../../output/tildify.ts'
import { proseWidth, wrap } from '../../output/wrap.ts'
import { shownLocation } from '../../store/store-location.ts'
import { type SettingRow, settingRows, shownValue } from './setting-rows.ts'

/** `skein config`: says in words what is used, then the settings that differ from their defaults, with their
 *  meaning. `--all` prints every setting, and so does a pipe. Keys are reported as set or not set, never
 *  printed. */
export const configCommand: CommandHandler = async (args, context) => {
  const { out, err } = context
  const config = await readConfig(context.cwd, context.env)
  const rows = settingRows(config, context)
  const keys = providers.map(provider => ({ provider, source: keySource(provider, context.env, config) }))
  if (context.json) printJson(config, rows, keys, context)
  else if (!out.isTerminal) printTable(rows, keys, context)
  else if (hasOption(args, 'all')) printSections(tableRows(rows, keys, context), context)
  else explain(config, rows, keys, context)
  if (context.quiet || context.json) return exitCode.ok
  for (const reason of config.ignored) err.line(noteLine(`not read: ${reason}`, err))
  for (const { path, file, line } of config.shadowed)
    err.line(
      noteLine(
        `${shownPath(file, context.cwd, context.env)}:${line} ${path} is not used: your own file has one of this name`,
        err,
      ),
    )
  if (!keys.some(({ source }) => source !== null)) {
    const advice = [
      `no key is set. For a real model: skein config keys set anthropic (or openai, google), or export ANTHROPIC_API_KEY=${err.style.symbols.dots}`,
      'On your own machine, without a key: -m ollama/llama3.2',
    ]
    for (const line of advice.flatMap(text => wrap(text, err.width))) err.line(line)
  }
  return exitCode.ok
}

interface ProviderKey {
  readonly provider: ModelProvider
  readonly source: KeySource | null
}

function printJson(
  config: Config,
  rows: readonly SettingRow[],
  keys: readonly ProviderKey[],
  context: CommandContext,
): void {
  const isSet = ({ provider, source }: ProviderKey) =>
    provider.variables.map(variable => [
      variable,
      source !== null &&
        ('variable' in source ? source.variable === variable : variable === provider.variables[0]),
    ])
  const value = {
    store: shownLocation(context),
    store_from: context.location().kind,
    files: config.files,
    ignored: config.ignored,
    settings: rows.map(({ path, value, source }) => ({ path, value, source })),
    keys: Object.fromEntries(keys.flatMap(isSet)),
  }
  context.out.line(JSON.stringify(value))
}

/** A setting and its section. */
type Row = readonly [section: string, name: string, value: string, source: string]

function tableRows(
  rows: readonly SettingRow[],
  keys: readonly ProviderKey[],
  context: CommandContext,
): readonly Row[] {
  return [
    ['', 'store', shownLocation(context), storeSource(context)],
    ...rows.map((row): Row => {
      const dot = row.path.indexOf('.')
      return [row.path.slice(0, Math.max(0, dot)), row.path.slice(dot + 1), shownValue(row), row.source]
    }),
    ...keys.flatMap(({ provider, source }) =>
      provider.variables.map(name => keyRow(name, provider, source, context)),
    ),
  ]
}

function keyRow(
  name: string,
  { variables }: ModelProvider,
  source: KeySource | null,
  { env }: CommandContext,
): Row {
  if (source !== null && 'variable' in source && source.variable === name)
    return ['keys', name, 'set', 'environment']
  const isOfFile = source !== null && 'file' in source && name === variables[0]
  return ['keys', name, isOfFile ? 'set' : 'not set', isOfFile ? tildify(source.file, env) : 'environment']
}

function printTable(
  rows: readonly SettingRow[],
  keys: readonly ProviderKey[],
  context: CommandContext,
): void {
  const { out } = context
  for (const [section, name, ...rest] of tableRows(rows, keys, context)) {
    const cells = [section && section !== 'keys' ? `${section}.${name}` : name, ...rest]
    out.line(cells.map(cell => out.style.safe(cell).replace(/\s+/g, ' ')).join('\t'))
  }
}

/** Below this width, a value is printed under its name. */
const narrow = 64

/** Prints the settings by section, as in the file. Long lines are wrapped. */
function printSections(rows: readonly Row[], { out }: CommandContext): void {
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

/** What is used, in sentences, and the settings that the user has changed. */
function explain(
  config: Config,
  rows: readonly SettingRow[],
  keys: readonly ProviderKey[],
  context: CommandContext,
): void {
  const { out, cwd, env } = context
  const { faint, safe, symbols, title } = out.style
  const say = (text: string, indent = '') => {
    for (const line of wrap(safe(text), Math.min(out.width, proseWidth) - indent.length))
      out.line(indent + line)
  }
  say(modelSentence(config, context))
  say(`Conversations are in ${shownLocation(context)} (${storeSource(context)}).`)
  const own = userConfigFile(env)
  const isThere = config.files.includes(own)
  say(`Your settings are in ${tildify(own, env)}${isThere ? '' : ', which does not exist yet'}.`)
  for (const file of config.files.filter(one => one !== own))
    say(`This project has settings in ${shownPath(file, cwd, env)}, which win over yours.`)
  const changed = rows.filter(({ isDefault }) => !isDefault)
  out.line()
  out.line(title(changed.length === 0 ? 'Every setting has its default.' : 'Changed settings'))
  for (const row of changed) {
    const shown = `${row.path} = ${shownValue(row).replace(/\s+/g, ' ')}`
    const isOneLine = 2 + widthOf(shown) + 3 + widthOf(row.source) <= out.width
    for (const line of wrap(safe(shown), out.width - 2))
      out.line(`  ${line}${isOneLine ? `  ${faint(safe(row.source))}` : ''}`)
    if (!isOneLine) out.line(`    ${faint(safe(row.source))}`)
    const about = findSetting(row.path)?.setting?.about
    if (about !== undefined)
      for (const line of wrap(plain(about), Math.min(out.width, proseWidth) - 4))
        out.line(`    ${faint(line)}`)
  }
  out.line()
  out.line(title('Keys'))
  const width = Math.max(...keys.map(({ provider }) => provider.name.length))
  for (const { provider, source } of keys) {
    const where =
      source === null
        ? keyAdvice(provider)
        : 'variable' in source
          ? source.variable
          : tildify(source.file, env)
    const state = source === null ? symbols.dot : symbols.ok
    const paint = source === null ? faint : (text: string) => text
    const start = `  ${state} ${padEnd(provider.name, width)}`
    const isOneLine = widthOf(start) + 2 + widthOf(where) <= out.width
    out.line(isOneLine ? `${start}  ${paint(safe(where))}` : start.trimEnd())
    if (!isOneLine) for (const line of wrap(safe(where), out.width - 4)) out.line(`    ${paint(line)}`)
  }
  out.line()
  say('Every setting: skein config --all')
  say('What one does: skein config get conversation.max_tokens')
  say('Change one: skein config set model sonnet')
}

function keyAdvice({ name, needsKey }: ModelProvider): string {
  return needsKey ? `not set: skein config keys set ${name}` : 'not set, and most servers need none'
}

function modelSentence(config: Config, { env }: CommandContext): string {
  const { id, from } = chooseModel({ arguments: [], options: {} }, env, config)
  if (from === 'nothing') return 'You talk to the built-in demo model, because no key is set.'
  const why =
    from === 'environment'
      ? 'SKEIN_MODEL names it'
      : from === 'configuration'
        ? 'the setting model names it'
        : 'its key is set'
  return `You talk to ${modelName(id)} (${id}), because ${why}.`
}

/** A sentence of a declaration without its Markdown. */
export function plain(text: string): string {
  return text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '')
}

function storeSource(context: CommandContext): string {
  const { kind } = context.location()
  if (kind === 'project') return '.skein/ above you'
  if (kind === 'user') return 'your data folder'
  return context.env.SKEIN_DB ? '--db or SKEIN_DB' : '--db'
}
