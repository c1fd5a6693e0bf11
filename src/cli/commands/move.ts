import type { Command } from '../command.ts'

export const moveCommands: readonly Command[] = [
  {
    name: 'import',
    aliases: ['conversation import', 'sessions import'],
    group: 'Keep',
    summary: 'take in what skein export has written; what is there already is left alone',
    arguments: [{ name: 'file', many: true }],
    options: {
      report: { value: '<file>', help: 'write what is wrong with each bad line, as JSON Lines' },
      force: { short: 'f', help: 'write over a report that is there' },
    },
    examples: [
      ['skein import talk.jsonl', 'all that is new in it; twice is as good as once'],
      ['ssh host skein export --all --native | skein import -', 'from another machine'],
    ],
    load: async () => (await import('../move/import.ts')).importCommand,
  },
  {
    name: 'copy',
    group: 'Keep',
    summary: 'copy conversations from one store into another, files or PostgreSQL',
    arguments: [{ name: 'from' }, { name: 'to' }],
    options: { only: { value: '<id>', many: true, help: 'this conversation; may be given again' } },
    examples: [
      ['skein copy .skein/conversations.db postgres://db/team', 'all of a file into a server'],
      ['skein copy postgres://db/team mine.db --only a7xk5f', 'one conversation, the other way'],
    ],
    load: async () => (await import('../move/copy.ts')).copy,
  },
]
