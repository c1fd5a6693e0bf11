import type { Command, CommandOption } from '../command-line/command.ts'
import { underNouns } from './under-nouns.ts'

const all: CommandOption = { short: 'a', help: 'of every directory, not of this project alone' }
const traces: CommandOption = { help: 'the runs of subagents' }

/** The filters of `ls` and `search`. */
const filters: Readonly<Record<string, CommandOption>> = {
  tag: { value: '<tag>', help: 'that have this tag' },
  metadata: { value: '<key=value>', many: true, help: 'with this metadata; may be repeated' },
  channel: { value: '<name>', help: 'of one channel, such as cli or discord' },
  project: { value: '<id>', help: 'of one project' },
}

export const readCommands: readonly Command[] = [
  {
    name: 'ls',
    aliases: ['sessions list', 'sessions ls'],
    group: 'Look',
    summary: 'list the conversations of this project',
    arguments: [],
    options: {
      all,
      limit: { short: 'l', value: '<n>', help: 'how many; default 20' },
      title: { value: '<text>', help: 'whose title has this text' },
      key: { value: '<text>', help: 'whose key begins with this text' },
      ...filters,
      label: {
        value: '<text>',
        help: 'whose label begins with this text; with --traces: a subagent, or subagent/run',
      },
      task: { value: '<id>', help: 'of one task' },
      traces,
      trash: { help: 'conversations in the trash' },
    },
    examples: [
      ['skein ls', '* is what skein continues, + is live'],
      ['skein ls --all --title flaky', 'from everywhere, by a word of the title'],
      ['skein ls --traces --label explorer', 'the runs of one subagent'],
      ['skein ls --json', 'for programs, newest first'],
    ],
    load: async () => (await import('../read/ls.ts')).lsCommand,
  },
  {
    name: 'show',
    aliases: underNouns('print', 'show', 'view'),
    group: 'Look',
    summary: 'read a conversation, or the way to a message',
    arguments: [{ name: 'id', optional: true }],
    options: {
      all: { short: 'a', help: 'every message, from the first on; a terminal shows the newest 200' },
      full: { help: 'open tools, thinking and summaries' },
      path: { help: 'a line for each message' },
      from: { value: '<id>', help: 'begin with this message' },
      code: { short: 'x', help: 'only the last code block' },
    },
    examples: [
      ['skein show', 'what skein would continue'],
      ['skein show a7xk5f:full-jitter', 'a branch of a conversation'],
      ['skein show v5c4zr > storm.md', 'the way to a message, as Markdown'],
      ['skein show -x > fix.ts', 'the last code block of the conversation'],
    ],
    load: async () => (await import('../read/show.ts')).showCommand,
  },
  {
    name: 'tree',
    aliases: ['conversation list', 'conversation ls', ...underNouns('tree')],
    group: 'Look',
    summary: 'every message with its branches',
    arguments: [{ name: 'id', optional: true }],
    options: {
      all,
      compact: { help: 'fold stretches without a fork' },
      traces: { help: 'also the runs of subagents' },
    },
    examples: [
      ['skein tree', 'every message of this project, newest last'],
      ['skein tree a7xk5f', 'one conversation, or what follows a message'],
      ['skein tree a7xk5f --compact', 'only where it forks'],
    ],
    load: async () => (await import('../read/tree.ts')).treeCommand,
  },
  {
    name: 'branches',
    aliases: underNouns('branches'),
    group: 'Look',
    summary: 'the branches of a conversation',
    arguments: [{ name: 'id', optional: true }],
    options: {},
    examples: [
      ['skein branches a7xk5f', 'with the number of own messages and the last question of each'],
      ['skein branches', 'of what skein would continue; * is the active one'],
    ],
    load: async () => (await import('../read/branches.ts')).branchesCommand,
  },
  {
    name: 'search',
    aliases: underNouns('search'),
    group: 'Look',
    summary: 'find anything said by you, models or tools',
    arguments: [{ name: 'query', many: true }],
    options: {
      all,
      limit: { short: 'l', value: '<n>', help: 'how many hits; default 20, at most 200' },
      ranked: { help: 'the best first, instead of the newest' },
      key: { value: '<text>', help: 'in conversations whose key begins with this text' },
      label: { value: '<text>', help: 'in conversations whose label begins with this text' },
      ...filters,
    },
    examples: [
      ['skein search "secure context"', 'both words, in any order, in one message'],
      [`skein search '"secure context" -grep role:assistant'`, 'a phrase, without a word, by who said it'],
      [`skein search --all 'jitt*'`, 'of every directory, by the beginning of a word'],
      ['skein search --all --key web:ada: refund', "in one user's conversations"],
    ],
    load: async () => (await import('../read/search.ts')).searchCommand,
  },
  {
    name: 'events',
    aliases: underNouns('events'),
    group: 'Look',
    summary: 'list what happened around the messages: resumes, permissions, plans, tools, outages',
    arguments: [{ name: 'id', optional: true }],
    options: {
      type: { value: '<type>', many: true, help: 'only these types, such as resume or permission' },
      limit: { short: 'l', value: '<n>', help: 'how many; default 50' },
      after: { value: '<cursor>', help: 'the next page, by the cursor that the last page printed' },
    },
    examples: [
      ['skein events', 'of the current conversation, newest last'],
      ['skein events a7xk5f --type resume', 'how an agent got its memory back'],
      ['skein events a7xk5f --json', 'for programs, newest first'],
    ],
    load: async () => (await import('../read/events.ts')).eventsCommand,
  },
  {
    name: 'stats',
    aliases: underNouns('stats'),
    group: 'Look',
    summary: 'count messages, tokens and costs',
    arguments: [],
    options: {},
    examples: [
      ['skein stats', 'the last 30 days and all, by day and by model'],
      ['skein stats --json', 'the same, for machines'],
    ],
    load: async () => (await import('../read/stats.ts')).statsCommand,
  },
]
