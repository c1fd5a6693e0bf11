import { readConfig } from '../../config/read-config.ts'
import type { CommandHandler } from '../command-line/command.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { printNote } from '../output/print.ts'
import { tableLines } from '../output/table.ts'
import { mayStart } from '../trust/project-programs.ts'
import { type ListedAgent, listAgents } from './find-agent.ts'

/** `skein agents`: the agents that can be named, and which of them are installed. */
export const agentsCommand: CommandHandler = async (_args, context) => {
  const { out, env, cwd } = context
  const config = await readConfig(cwd, env)
  const agents = listAgents(config, context)
  const isTrusted = ({ name, from }: ListedAgent) =>
    from !== 'project' || mayStart(`agents.${name}`, config, context)
  if (context.json) {
    const values = agents.map(one => ({
      name: one.name,
      title: one.title,
      installed: one.isInstalled,
      from: one.from,
      trusted: isTrusted(one),
      command: 'command' in one.settings ? [one.settings.command, ...one.settings.args] : null,
      model: 'command' in one.settings ? null : one.settings.model,
      install: one.install,
    }))
    out.line(JSON.stringify(values))
    return exitCode.ok
  }
  // Those that can be used come first; the order of the presets is kept.
  const sorted = [...agents].sort((a, b) => Number(b.isInstalled) - Number(a.isInstalled))
  const { safe, symbols } = out.style
  const rows = sorted.map(one => [
    one.isInstalled ? symbols.ok : '',
    safe(one.name),
    safe(one.title ?? ''),
    safe(stateOf(one, isTrusted(one))),
  ])
  if (out.isTerminal) {
    const columns = [
      {},
      { header: 'NAME', gap: ' ', paint: out.style.title },
      { header: 'AGENT', shrinksTo: 10 },
      { header: '', shrinksTo: 12 },
    ]
    const options = { dots: symbols.dots, paintHeader: out.style.faint }
    for (const line of tableLines(rows, columns, out.width, options)) out.line(line)
  } else
    for (const one of sorted)
      out.line(
        [one.name, one.isInstalled ? 'installed' : 'not installed', one.from, commandOf(one)]
          .map(safe)
          .join('\t'),
      )
  const [first] = sorted.filter(one => one.isInstalled)
  printNote(
    context,
    first === undefined
      ? 'none is installed. How: skein agents --json=name,install'
      : `chat: skein agent ${first.name} ${symbols.dot} in an editor: skein acp ${first.name}`,
  )
  return exitCode.ok
}

function stateOf(agent: ListedAgent, isTrusted: boolean): string {
  const { from, isInstalled, install } = agent
  if (!isTrusted) return 'named by this project: skein config trust'
  if (!isInstalled) return install ?? `there is no ${commandOf(agent)}`
  return from === 'preset' ? commandOf(agent) : `${commandOf(agent)} (skein.yaml)`
}

/** Without the arguments of an entry, which may contain secrets. */
function commandOf({ settings, from }: ListedAgent): string {
  if (!('command' in settings)) return settings.model
  return from === 'preset' ? [settings.command, ...settings.args].join(' ') : settings.command
}
