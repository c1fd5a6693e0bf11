import { padEnd, widthOf } from '../../terminal/cut.ts'
import { ask } from '../chat-state.ts'
import { slashCommands } from './index.ts'
import type { SlashCommand } from './slash-command.ts'

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
    const keys = 'Alt+Enter or \\ at the end: a new line. Ctrl+C stops an answer and keeps it. Ctrl+D leaves.'
    out.line(`  ${out.style.faint(keys)}`)
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
