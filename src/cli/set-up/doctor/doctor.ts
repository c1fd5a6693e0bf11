import type { Config } from '../../../config/config.ts'
import { inspectConfig, shownPath } from '../../../config/read-config.ts'
import { type CommandHandler, hasOption } from '../../command-line/command.ts'
import type { CommandContext } from '../../command-line/command-context.ts'
import { exitCode } from '../../command-line/exit-code.ts'
import { plural } from '../../output/number.ts'
import { wrap } from '../../output/wrap.ts'
import type { Check } from './check.ts'
import { checkModels } from './check-models.ts'
import { checkAgents, checkServers } from './check-programs.ts'
import { checkStore } from './check-store.ts'

/** `skein doctor`: checks the installation, the store, the configuration and the keys. Exit 1 if a check
 *  fails. */
export const doctorCommand: CommandHandler = async (args, context) => {
  const isOnline = hasOption(args, 'online')
  const checks = [checkNode(), ...(await checkStore(context)), ...(await checkSettings(context, isOnline))]
  const problems = checks.filter(({ status }) => status === 'failed').length
  const notes = checks.filter(({ status }) => status === 'note').length
  if (context.json) context.out.line(JSON.stringify({ checks, problems, notes }))
  else {
    for (const { name, status, message } of checks) {
      if (context.quiet && status === 'ok') continue
      for (const line of checkLines({ name, status, message }, context)) context.out.line(line)
    }
    const counts = [
      ...(problems > 0 ? [plural(problems, 'problem')] : []),
      ...(notes > 0 ? [plural(notes, 'note')] : []),
    ]
    if (!context.quiet) context.out.line(counts.length > 0 ? counts.join(', ') : 'no problems found')
  }
  return problems > 0 ? exitCode.failure : exitCode.ok
}

/** On a terminal, a long message is wrapped between words, under its beginning. */
function checkLines({ name, status, message }: Check, { out }: CommandContext): readonly string[] {
  const { style, isTerminal, width } = out
  const start = `${style[status](style.symbols[status])} ${name.padEnd(8)} `
  const text = style.safe(message)
  // On a narrow terminal, a column for the message would be too narrow for words.
  const isNarrow = width < 60
  const indent = ' '.repeat(isNarrow ? 2 : 11)
  if (!isTerminal || text.length + 11 <= width) return [start + text]
  const rows = wrap(text, Math.max(20, width - indent.length)).map(row => indent + row)
  return isNarrow ? [start.trimEnd(), ...rows] : [start + rows[0]!.trimStart(), ...rows.slice(1)]
}

/** The oldest supported version. */
const oldestNode = [22, 14] as const

function checkNode(): Check {
  const { node, napi } = process.versions
  const [major = 0, minor = 0] = node.split('.').map(Number)
  const isOld = major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1])
  if (!isOld) return { name: 'node', status: 'ok', message: `${node}, Node-API ${napi}` }
  return {
    name: 'node',
    status: 'failed',
    message: `${node} is too old: install ${oldestNode.join('.')} or newer`,
  }
}

async function checkSettings(context: CommandContext, isOnline: boolean): Promise<readonly Check[]> {
  const { config, problems } = await inspectConfig(context.cwd, context.env)
  const checks = problems.map(({ message }): Check => ({ name: 'config', status: 'failed', message }))
  const note = (message: string): Check => ({ name: 'config', status: 'note', message })
  if (checks.length === 0) {
    const files =
      config.files.length === 0
        ? 'no skein.yaml, everything has its default'
        : `${plural(config.files.length, 'file')} read`
    checks.push({ name: 'config', status: 'ok', message: files })
  }
  checks.push(...config.ignored.map(reason => note(`not read: ${reason}`)))
  for (const { path, file, line } of config.shadowed) {
    const where = `${shownPath(file, context.cwd, context.env)}:${line}`
    checks.push(note(`${where} ${path} is not used: your own file has one of this name`))
  }
  return [
    ...(await checkModels(config, context, isOnline)),
    ...checks,
    ...(await checkServers(config, context, isOnline)),
    ...checkAgents(config, context),
    ...checkAcp(config),
    ...checkDiscord(config),
  ]
}

/** Names the settings of hand-overs that are set. */
function checkAcp({ sources }: Config): readonly Check[] {
  const set = Object.keys(sources).filter(path => path.startsWith('acp.'))
  const isAre = set.length === 1 ? 'is' : 'are'
  return set.length === 0 ? [] : [{ name: 'acp', status: 'ok', message: `${set.join(', ')} ${isAre} set` }]
}

/** Says that a token is set, and nothing about its value. */
function checkDiscord({ discord, sources }: Config): readonly Check[] {
  if (discord.token === null) return []
  const source = sources['discord.token']
  const where = source?.kind === 'environment' ? source.variable : 'discord.token'
  return [{ name: 'discord', status: 'ok', message: `${where} is set. To try it: skein discord --check` }]
}
