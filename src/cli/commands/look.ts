import type { Command, Option } from '../command.ts'

const all: Option = { short: 'a', help: 'of every directory, not of this one alone' }
const traces: Option = { help: 'the runs of subagents' }

export const lookCommands: readonly Command[] = [
  {
    name: 'ls',
    aliases: ['sessions list', 'sessions ls'],
    group: 'Look',
    summary: 'list the conversations of this directory',
    arguments: [],
    options: {
      all,
      limit: { short: 'l', value: '<n>', help: 'how many; 20 unless said otherwise' },
      title: { value: '<text>', help: 'whose title has this text' },
      tag: { value: '<tag>', help: 'that have this tag' },
      channel: { value: '<name>', help: 'of one channel, such as cli or discord' },
      project: { value: '<id>', help: 'of one project' },
      task: { value: '<id>', help: 'of one task' },
      traces,
      trash: { help: 'what is in the trash' },
    },
    examples: [
      ['skein ls', 'what was said in this directory; * is what skein goes on with, + is live'],
      ['skein ls --all --title flaky', 'from everywhere, by a word of the title'],
      ['skein ls --json', 'for programs, newest first'],
    ],
    load: async () => (await import('../look/ls.ts')).ls,
  },
  {
    name: 'tree',
    aliases: ['conversation list', 'conversation ls', 'conversation tree'],
    group: 'Look',
    summary: 'every message with its branches',
    arguments: [{ name: 'id', optional: true }],
    options: {
      all,
      compact: { help: 'fold stretches without a fork' },
      traces: { help: 'also the runs of subagents' },
    },
    examples: [
      ['skein tree', 'every message said in this directory, most recent last'],
      ['skein tree a7xk5f', 'of one conversation; of a message: what follows it'],
      ['skein tree a7xk5f --compact', 'only where it forks'],
    ],
    load: async () => (await import('../look/tree.ts')).tree,
  },
]
