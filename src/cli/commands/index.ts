import type { Command } from '../command.ts'
import { acpCommands } from './acp.ts'
import { keepCommands } from './keep.ts'
import { lookCommands } from './look.ts'
import { mendCommands } from './mend.ts'
import { moveCommands } from './move.ts'
import { setUpCommands } from './set-up.ts'
import { talkCommands } from './talk.ts'
import { talkOptions } from './talk-options.ts'

/** `skein [prompt…]`: what happens without a command. */
export const prompt: Command = {
  name: '',
  aliases: ['ask'],
  group: 'Talk',
  summary: 'ask, and go on where this directory left off',
  arguments: [{ name: 'prompt', optional: true, many: true }],
  options: {
    ...talkOptions,
    'with-context': { help: 'with -n: send along what earlier conversations say of it' },
    attach: { short: 'a', value: '<file>', many: true, help: 'send a file along' },
  },
  examples: [
    ['skein "why is the build red?"', 'ask; goes on where this directory left off'],
    ['skein -n "something else"', 'start a new conversation'],
    ['skein', 'chat, where you left off'],
    ['skein search "secure context"', 'find anything said by you, models or tools'],
    ['skein fork q2w6nb', 'go another way from any message'],
  ],
  load: async () => (await import('../talk/ask.ts')).ask,
}

/** All commands, in the order of the help. */
export const commands: readonly Command[] = [
  ...talkCommands,
  ...acpCommands,
  ...lookCommands,
  ...keepCommands,
  ...mendCommands,
  ...moveCommands,
  ...setUpCommands,
]
