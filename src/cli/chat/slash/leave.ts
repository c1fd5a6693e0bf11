import { padEnd, widthOf } from '../../terminal/cut.ts'
import { ask } from '../chat-state.ts'
import { slashCommands } from './index.ts'
import type { SlashCommand } from './slash-command.ts'

const keys = [
  'Alt+Enter, or \\ at the end: another line. Tab completes. Up: what you typed.',
  'Ctrl+C stops an answer and keeps it, twice leaves. Ctrl+D leaves too.',
  '//new says "/new" instead of doing it.',
]

export const help: SlashCommand = {
  name: 'help',
  needs: 'nothing',
  help: 'this list',
  async run({ world }) {
    const { out } = world
    const typed = slashCommands.map(({ name, argument }) => `/${name}${argument ? ` ${argument}` : ''}`)
    const width = Math.max(...typed.map(widthOf)) + 2
    for (const [i, command] of slashCommands.entries()) {
      out.line(`  ${padEnd(typed[i]!, width)}${out.style.faint(command.help)}`)
    }
    for (const line of keys) out.line(`  ${out.style.faint(line)}`)
    return ask
  },
}

export const quit: SlashCommand = {
  name: 'quit',
  aliases: ['exit', 'bye'],
  needs: 'nothing',
  help: 'leave; what was said stays',
  run: async () => ({ type: 'leave' }),
}
