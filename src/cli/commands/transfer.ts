import type { Command } from '../command-line/command.ts'
import { underNouns } from './under-nouns.ts'

export const exportDeclaration: Command = {
  name: 'export',
  aliases: underNouns('export'),
  group: 'Keep',
  summary: 'write conversations as Markdown, as a page that opens offline, or with all that is stored',
  arguments: [{ name: 'id', optional: true, many: true }],
  options: {
    native: { help: 'all that is stored, as JSON Lines for skein import; so is a file named *.jsonl' },
    html: { help: 'one page with all branches, readable without a network or a script' },
    output: { short: 'o', value: '<file>', help: 'where to; a folder gets a file named after the title' },
    all: { help: 'native: all conversations; Markdown: all branches instead of one path' },
    force: { short: 'f', help: 'write over a file that is there' },
  },
  examples: [
    ['skein export a7xk5f > storm.md', 'the path that would be continued, as Markdown'],
    ['skein export a7xk5f --html -o storm.html', 'all branches, in one page'],
    ['skein export --all -o talk.jsonl', 'everything, to be imported elsewhere'],
  ],
  load: async () => (await import('../transfer/export.ts')).exportCommand,
}

export const transferCommands: readonly Command[] = [
  {
    name: 'import',
    aliases: underNouns('import'),
    group: 'Keep',
    summary: 'import files of skein export; what the store already has is left unchanged',
    arguments: [{ name: 'file', many: true }],
    options: {
      report: { value: '<file>', help: 'write the reason for each bad line, as JSON Lines' },
      force: { short: 'f', help: 'write over a report that is there' },
    },
    examples: [
      ['skein import talk.jsonl', 'all that is new in it; twice is as good as once'],
      ['ssh host skein export --all --native | skein import -', 'from another machine'],
    ],
    load: async () => (await import('../transfer/import.ts')).importCommand,
  },
  {
    name: 'copy',
    aliases: underNouns('copy'),
    group: 'Keep',
    summary: 'copy conversations from one store into another, files or PostgreSQL',
    arguments: [{ name: 'from' }, { name: 'to' }],
    options: { only: { value: '<id>', many: true, help: 'this conversation; may be given again' } },
    examples: [
      ['skein copy .skein/conversations.db postgres://db/team', 'all of a file into a server'],
      ['skein copy postgres://db/team mine.db --only a7xk5f', 'one conversation, the other way'],
    ],
    load: async () => (await import('../transfer/copy.ts')).copyCommand,
  },
]
