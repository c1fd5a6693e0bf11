import type { Command } from '../command-line/command.ts'

export const discordCommands: readonly Command[] = [
  {
    name: 'discord',
    group: 'Talk',
    summary: 'answer people in Discord, each place with a memory of its own',
    arguments: [],
    options: {
      check: { help: 'report what is missing: token, intents, permissions, invitation; then end' },
      model: { short: 'm', value: '<name>', help: 'model for conversations that keep none' },
    },
    examples: [
      ['skein discord --check', 'is everything set up? Prints the link that invites the bot'],
      ['DISCORD_TOKEN=… skein discord', 'until Ctrl+C; set up the bot first: docs/discord.md'],
      ['skein -c discord:dm:80351110224678912 "and then?"', 'continue a direct message here'],
    ],
    load: async () => (await import('../discord/discord.ts')).discordCommand,
  },
]
