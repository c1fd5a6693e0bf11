import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../../config/config.ts'
import { parseYamlValue, setInYaml, unsetInYaml, type YamlValue } from '../../../config/edit-yaml.ts'
import { type FoundSetting, findSetting, similarSettings } from '../../../config/find-setting.ts'
import {
  inspectConfig,
  ownerOf,
  problemsOfText,
  shownPath,
  userConfigFile,
} from '../../../config/read-config.ts'
import { type Args, type CommandHandler, hasOption } from '../../command-line/command.ts'
import type { CommandContext } from '../../command-line/command-context.ts'
import { exitCode } from '../../command-line/exit-code.ts'
import { UsageError } from '../../command-line/usage-error.ts'
import { unknownModel } from '../../model/choose-model.ts'
import { noteLine, printNote } from '../../output/print.ts'
import { wrap } from '../../output/wrap.ts'
import { plain } from './config.ts'
import { type SettingRow, settingRows, shownValue, sourceText } from './setting-rows.ts'
import { readSettingsFile, writeSettingsFile } from './settings-file.ts'

/** `skein config get <setting>`: the value on stdout; on a terminal also its meaning and its source. */
export const configGetCommand: CommandHandler = async (args, context) => {
  const { out, err } = context
  const typed = args.arguments[0]!
  const found = settingNamed(typed)
  const { config } = await inspectConfig(context.cwd, context.env)
  const rows = rowsAt(typed, found, config, context)
  if (context.json) {
    const { takes = null, standard = null, about = null } = found.setting ?? {}
    const values = rows.map(({ path, value, source }) => ({ path, value, source }))
    const words = about === null ? null : plain(about)
    out.line(JSON.stringify({ setting: typed, values, takes, default: standard, about: words }))
    return exitCode.ok
  }
  const isOne = rows.length === 1 && rows[0]!.path === typed
  for (const row of rows) {
    const value = out.style.safe(shownValue(row))
    out.line(isOne ? value : `${row.path}\t${value}`)
  }
  if (!out.isTerminal || context.quiet) return exitCode.ok
  for (const line of explanation(found, isOne ? rows[0]! : null))
    for (const part of wrap(line, Math.min(100, err.width))) err.line(err.style.faint(part))
  return exitCode.ok
}

function explanation({ section, setting }: FoundSetting, row: SettingRow | null): readonly string[] {
  if (setting === null) return [plain(section.about)]
  const standard = setting.standard === null ? 'It is required.' : `Default: ${setting.standard}.`
  return [
    plain(setting.about),
    `Takes ${plain(setting.takes)}. ${standard}${row === null ? '' : ` Set in: ${row.source}.`}`,
  ]
}

/** The rows of a setting or a section. A value that may be a secret is only said to be set. */
function rowsAt(
  typed: string,
  { setting }: FoundSetting,
  config: Config,
  context: CommandContext,
): readonly SettingRow[] {
  const rows = settingRows(config, context).filter(
    ({ path }) => path === typed || path.startsWith(`${typed}.`),
  )
  if (rows.length > 0 || setting === null) return rows
  const source = config.sources[typed] ?? { kind: 'default' }
  const value = source.kind === 'default' ? setting.standard : 'set'
  const isDefault = source.kind === 'default'
  return [{ path: typed, value, source: sourceText(source, context), isDefault }]
}

/** `skein config set <setting> <value>`: changes one value of a file, and nothing else in it. */
export const configSetCommand: CommandHandler = async (args, context) => {
  const [typed, text] = args.arguments as readonly [string, string]
  const found = settingNamed(typed)
  const value = await valueFor(found, text)
  if (typed === 'model') await refuseUnknownModel(String(value), context)
  const file = await fileFor(args, typed, found, context)
  const shown = shownPath(file, context.cwd, context.env)
  const before = readSettingsFile(file)
  const after = await setInYaml(before, found.path, value, shown)
  await refuseNewProblems(before, after, file, context)
  writeSettingsFile(file, after)
  await report(typed, file, context)
  return exitCode.ok
}

/** `skein config unset <setting>`: removes a value, so that the setting has its default again. */
export const configUnsetCommand: CommandHandler = async (args, context) => {
  const typed = args.arguments[0]!
  const found = settingNamed(typed)
  const file = await fileFor(args, typed, found, context)
  const shown = shownPath(file, context.cwd, context.env)
  const before = readSettingsFile(file)
  const after = await unsetInYaml(before, found.path, shown)
  if (after === before) {
    printNote(context, `${typed} is not set in ${shown}. Nothing was changed`)
    return exitCode.ok
  }
  await refuseNewProblems(before, after, file, context)
  writeSettingsFile(file, after)
  await report(typed, file, context)
  return exitCode.ok
}

/** Throws UsageError for an unknown setting, with similar ones. */
function settingNamed(typed: string): FoundSetting {
  const found = findSetting(typed)
  if (found) return found
  const near = similarSettings(typed).slice(0, 3)
  const hint =
    near.length === 0 ? 'All: skein config --all, docs/config.md' : `Did you mean ${near.join(' or ')}?`
  throw new UsageError(`there is no setting ${typed}`, hint)
}

/** A list may be typed as names with commas. */
async function valueFor({ setting }: FoundSetting, text: string): Promise<YamlValue> {
  if (text.trim() === '')
    throw new UsageError('the value is empty', 'To remove a setting: skein config unset')
  const value = await parseYamlValue(text)
  if (!setting?.takes.startsWith('a list') || Array.isArray(value)) return value
  const names = text.split(',').map(name => name.trim())
  return names.filter(name => name !== '')
}

/** `--user`, `--project`, or the file that decides: the project's if it already sets this, otherwise the
 *  user's own. */
async function fileFor(
  args: Args,
  typed: string,
  { path }: FoundSetting,
  context: CommandContext,
): Promise<string> {
  const { cwd, env } = context
  if (hasOption(args, 'user') && hasOption(args, 'project'))
    throw new UsageError('--user and --project cannot be used together', 'Drop one')
  const own = userConfigFile(env)
  if (hasOption(args, 'user')) return own
  const { config } = await inspectConfig(cwd, env)
  const project = config.files.find(file => ownerOf(file, env) === 'project')
  if (hasOption(args, 'project')) return project ?? join(cwd, 'skein.yaml')
  const source = config.sources[typed] ?? config.sources[path.join('.')]
  return source?.kind === 'file' && existsSync(source.file) ? source.file : own
}

async function refuseUnknownModel(name: string, { cwd, env }: CommandContext): Promise<void> {
  const { config } = await inspectConfig(cwd, env)
  const problem = unknownModel(name, config.models)
  if (problem) throw problem
}

/** The first problem that the change would cause. A file may have others, which stay. */
async function refuseNewProblems(
  before: string,
  after: string,
  file: string,
  { cwd, env }: CommandContext,
): Promise<void> {
  const known = new Set((await problemsOfText(before, file, cwd, env)).map(withoutLine))
  const [fresh] = (await problemsOfText(after, file, cwd, env)).filter(one => !known.has(withoutLine(one)))
  if (fresh) throw new UsageError(withoutLine(fresh), 'Nothing was changed')
}

/** The line of a text that was not written would mislead. */
function withoutLine({ message }: Error): string {
  return message.replace(/^(\S+):\d+/, '$1')
}

/** Says what counts now, and what else overrides the file that was changed. */
async function report(typed: string, file: string, context: CommandContext): Promise<void> {
  const { cwd, env, err } = context
  const { config, problems } = await inspectConfig(cwd, env)
  const row = settingRows(config, context).find(({ path }) => path === typed)
  const source = config.sources[typed]
  const shown = shownPath(file, cwd, env)
  if (context.json) {
    context.out.line(
      JSON.stringify({ setting: typed, value: row?.value ?? null, source: row?.source ?? null, file }),
    )
    return
  }
  const { dot } = err.style.symbols
  if (source === undefined) printNote(context, `${typed} has its default again ${dot} changed ${shown}`)
  else {
    const value = row === undefined ? 'set' : shownValue(row)
    printNote(context, `${typed} is ${value} ${dot} ${sourceText(source, context)}`)
  }
  if (source !== undefined && !(source.kind === 'file' && source.file === file) && !context.quiet)
    err.line(noteLine(`${shown} was changed, but ${sourceText(source, context)} wins over it`, err))
  for (const { message } of problems.slice(0, 3)) if (!context.quiet) err.line(noteLine(message, err))
}
