import type { AgentSlashCommand } from '../../../acp/host/agent-settings.ts'
import { collapseSpaces } from '../../../core/collapse-spaces.ts'
import { UsageError } from '../../command-line/usage-error.ts'
import { padEnd, widthOf } from '../../output/cut.ts'
import type { Output } from '../../output/output.ts'
import { wrap, wrapForTerminal } from '../../output/wrap.ts'
import { type Chat, nextLine } from '../state/chat-state.ts'
import { agentCommandsIn } from './agent-commands.ts'
import type { SlashCommand } from './slash-command.ts'

type HelpGroup = readonly [names: string, what: string]

/** The commands by purpose, for the overview. */
function groupsIn({ controller }: Chat): readonly HelpGroup[] {
  return [
    ['/new /clear /resume /switch', 'which conversation, which branch'],
    ['/fork /retry /edit /undo', 'branch off; nothing is deleted'],
    ['/history /tree /search /think', 'look around; what the model thought'],
    ['/attach /detach /copy', 'files with your next message; the last answer'],
    ['/title /export', 'name it, write it to a file'],
    controller.host
      ? ['/mode /model /set', 'how the agent works; without a name: a list']
      : ['/model /context /compact', 'who answers, and what it sees'],
    ['/help /quit', '/help fork says more of one'],
  ]
}

const keys = [
  '@path sends a file along. Tab completes paths, commands, models and ids.',
  'Alt+Enter, or \\ at the end: another line. Ctrl+G: write it in your editor.',
  'Up: what you typed in this project. Ctrl+R searches all of it.',
  'Esc or Ctrl+C stops an answer and keeps it. Ctrl+C twice or Ctrl+D leaves.',
  '//new says "/new" instead of doing it.',
]

/** `/help`. `all` returns the commands of a chat, including this one. */
export function slashHelp(all: (chat: Chat) => readonly SlashCommand[]): SlashCommand {
  return {
    name: 'help',
    argument: '[command]',
    needs: 'nothing',
    help: 'list the commands, or explain one',
    async run(chat, name) {
      const { out } = chat.context
      const ours = all(chat)
      const others = await agentCommandsIn(chat)
      const lines =
        name === ''
          ? [...overview(groupsIn(chat), out), ...agentLines(chat, ours, others)]
          : [out.style.safe(aboutOne(name, ours, others))]
      for (const line of lines) out.line(wrapForTerminal(line, out))
      return nextLine
    },
    async complete(chat) {
      return [...all(chat), ...(await agentCommandsIn(chat))].map(({ name }) => name)
    },
  }
}

function overview(groups: readonly HelpGroup[], { style, width }: Output): readonly string[] {
  const column = Math.max(...groups.map(([names]) => widthOf(names))) + 2
  const rows = groups.map(([names, what]) =>
    // A narrow terminal gets only the names.
    width < 72 ? `  ${names}` : `  ${padEnd(names, column)}${style.faint(what)}`,
  )
  const about = keys.flatMap(line => wrap(line, Math.max(20, width - 2)))
  return [...rows, ...about.map(line => `  ${style.faint(line)}`)]
}

/** The commands of another program's agent. One that has the name of a command of ours needs two slashes. */
function agentLines(
  { controller, context: { out } }: Chat,
  ours: readonly SlashCommand[],
  others: readonly AgentSlashCommand[],
): readonly string[] {
  if (others.length === 0) return []
  const { style, width } = out
  const taken = new Set(ours.map(({ name }) => name))
  const names = others.map(({ name }) => (taken.has(name) ? `//${name}` : `/${name}`)).join(' ')
  return [
    `  ${style.faint(`${style.safe(controller.model.id)} has its own:`)}`,
    ...wrap(style.safe(names), Math.max(20, width - 3)).map(line => `  ${line}`),
  ]
}

function aboutOne(
  typed: string,
  commands: readonly SlashCommand[],
  others: readonly AgentSlashCommand[],
): string {
  const name = typed.replace(/^\/{1,2}/, '')
  const isNamed = ({ name: own, aliases = [] }: SlashCommand) =>
    [own, ...aliases].includes(name.toLowerCase())
  const one = typed.startsWith('//') ? undefined : commands.find(isNamed)
  const other = one ? undefined : others.find(command => command.name === name)
  if (other) return aboutLine(other.name, other.hint, collapseSpaces(other.description))
  if (!one) throw new UsageError(`there is no command /${name}`, '/help lists them')
  return aboutLine(one.name, one.argument ?? null, one.help)
}

function aboutLine(name: string, argument: string | null, help: string): string {
  return `  /${name}${argument ? ` ${argument}` : ''}  ${help}`
}

export const slashQuit: SlashCommand = {
  name: 'quit',
  aliases: ['exit', 'bye'],
  needs: 'nothing',
  help: 'leave; the conversation is kept',
  run: async () => ({ type: 'leave' }),
}
