import { UsageError } from '../../command-line/usage-error.ts'
import { padEnd, widthOf } from '../../output/cut.ts'
import type { Output } from '../../output/output.ts'
import { wrap } from '../../output/wrap.ts'
import { nextLine } from '../state/chat-state.ts'
import type { SlashCommand } from './slash-command.ts'

/** The commands by purpose, for the overview. */
const groups: readonly (readonly [names: string, what: string])[] = [
  ['/new /clear /resume /switch', 'which conversation, which branch'],
  ['/fork /retry /edit /undo', 'branch off; nothing is deleted'],
  ['/history /tree /search /think', 'look around; what the model thought'],
  ['/title /export', 'name it, write it to a file'],
  ['/model /context /compact', 'who answers, and what it sees'],
  ['/help /quit', '/help fork says more of one'],
]

const keys = [
  'Alt+Enter, or \\ at the end: another line. Tab completes. Up: what you typed.',
  'Ctrl+C stops an answer and keeps it, twice leaves. Ctrl+D leaves too.',
  '//new says "/new" instead of doing it.',
]

/** `/help`. `all` returns every command of a chat, including this one. */
export function slashHelp(all: () => readonly SlashCommand[]): SlashCommand {
  return {
    name: 'help',
    argument: '[command]',
    needs: 'nothing',
    help: 'list the commands, or explain one',
    async run({ context: { out } }, name) {
      for (const line of name === '' ? overview(out) : [aboutOne(name, all())]) out.line(line)
      return nextLine
    },
    complete: async () => all().map(({ name }) => name),
  }
}

function overview({ style, width }: Output): readonly string[] {
  const column = Math.max(...groups.map(([names]) => widthOf(names))) + 2
  const rows = groups.map(([names, what]) =>
    // A narrow terminal gets only the names.
    width < 72 ? `  ${names}` : `  ${padEnd(names, column)}${style.faint(what)}`,
  )
  const about = keys.flatMap(line => wrap(line, Math.max(20, width - 2)))
  return [...rows, ...about.map(line => `  ${style.faint(line)}`)]
}

function aboutOne(typed: string, commands: readonly SlashCommand[]): string {
  const name = typed.replace(/^\//, '').toLowerCase()
  const one = commands.find(command => [command.name, ...(command.aliases ?? [])].includes(name))
  if (!one) throw new UsageError(`there is no command /${name}`, '/help lists them')
  return `  /${one.name}${one.argument ? ` ${one.argument}` : ''}  ${one.help}`
}

export const slashQuit: SlashCommand = {
  name: 'quit',
  aliases: ['exit', 'bye'],
  needs: 'nothing',
  help: 'leave; the conversation is kept',
  run: async () => ({ type: 'leave' }),
}
