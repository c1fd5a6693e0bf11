import type { Command } from '../command.ts'

export const keepCommands: readonly Command[] = [
  {
    name: 'rename',
    aliases: ['conversation rename', 'sessions rename'],
    group: 'Keep',
    summary: 'give a conversation another title, or a branch another name',
    arguments: [{ name: 'id' }, { name: 'name', many: true }],
    options: {},
    examples: [
      ['skein rename a7xk5f "Reconnect storm"', 'another title'],
      ['skein rename a7xk5f:main-2 full-jitter', 'another name for a branch'],
    ],
    load: async () => (await import('../keep/rename.ts')).rename,
  },
  {
    name: 'label',
    aliases: ['conversation label', 'sessions label'],
    group: 'Keep',
    summary: 'label a message or a conversation',
    arguments: [{ name: 'id' }, { name: 'label', optional: true, many: true }],
    options: { remove: { help: 'take the label away' } },
    examples: [
      ['skein label q2w6nb "the good answer"', 'put a label on a message'],
      ['skein label q2w6nb', 'show it'],
      ['skein label q2w6nb --remove', 'take it away'],
    ],
    load: async () => (await import('../keep/label.ts')).label,
  },
  {
    name: 'rm',
    aliases: ['conversation delete', 'conversation rm', 'sessions delete', 'sessions rm'],
    group: 'Keep',
    summary: 'move conversations to the trash, or delete single messages',
    arguments: [{ name: 'id', optional: true, many: true }],
    options: {
      cascade: { help: 'with a message, also all that hangs on it' },
      'older-than': {
        value: '<time>',
        help: 'all conversations of this directory that rested for so long: 30d, 12h',
      },
      all: { help: 'with --older-than, of all directories' },
      undo: { help: 'take conversations out of the trash again' },
      'dry-run': { help: 'only say what would go' },
      yes: { short: 'y', help: 'do not ask' },
    },
    examples: [
      ['skein rm a7xk5f', 'move a conversation to the trash'],
      ['skein rm --undo a7xk5f', 'and back'],
      ['skein rm --cascade m3x5td', 'delete a message and all that follows it'],
      ['skein rm --older-than 30d --dry-run', 'what has rested for a month?'],
    ],
    load: async () => (await import('../keep/rm.ts')).rm,
  },
  {
    name: 'trash',
    aliases: ['conversation trash', 'sessions trash'],
    group: 'Keep',
    summary: 'list what is in the trash',
    arguments: [],
    options: {},
    examples: [
      ['skein trash', 'what was removed, and until when it can come back'],
      ['skein trash --json', 'the same, for machines'],
    ],
    load: async () => (await import('../keep/trash.ts')).trash,
  },
  {
    name: 'restore',
    aliases: ['conversation restore', 'sessions restore'],
    group: 'Keep',
    summary: 'take conversations out of the trash',
    arguments: [{ name: 'id', many: true }],
    options: {},
    examples: [
      ['skein restore a7xk5f', 'as if it had never been removed'],
      ['skein trash', 'shows the ids'],
    ],
    load: async () => (await import('../keep/restore.ts')).restore,
  },
]
