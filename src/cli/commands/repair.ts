import type { Command } from '../command-line/command.ts'
import { underNouns } from './under-nouns.ts'

export const repairCommands: readonly Command[] = [
  {
    name: 'verify',
    aliases: underNouns('verify'),
    group: 'Keep',
    summary: 'check that everything is as it was stored',
    arguments: [{ name: 'id', optional: true, many: true }],
    options: { quick: { help: 'only the newest 1,000 messages' } },
    examples: [
      ['skein verify', 'every word, every place, every blob, the trash included'],
      ['skein verify a7xk5f', 'one conversation'],
    ],
    load: async () => (await import('../repair/verify.ts')).verifyCommand,
  },
  {
    name: 'recover',
    aliases: underNouns('recover'),
    group: 'Keep',
    summary: 'copy the intact part of a damaged file into a new one',
    arguments: [{ name: 'file', optional: true }],
    options: {
      output: { short: 'o', value: '<file>', help: 'where to; otherwise beside it, as …-recovered.db' },
      force: { short: 'f', help: 'write over a file that is there' },
    },
    examples: [
      ['skein recover', 'the store in use, into a new file beside it; it is left as it is'],
      ['skein recover broken.db -o sound.db --json', 'with an exact list of losses'],
    ],
    load: async () => (await import('../repair/recover.ts')).recoverCommand,
  },
  {
    name: 'backup',
    aliases: underNouns('backup'),
    group: 'Keep',
    summary: 'copy the store into a file, while others write, and check the copy',
    arguments: [{ name: 'file' }],
    options: {
      'no-verify': { help: 'do not check the copy' },
      force: { short: 'f', help: 'write over a file that is there' },
    },
    examples: [
      ['skein backup talk-monday.db', 'all of one moment; open it with --db'],
      ['skein backup /mnt/nightly.db --force -q', 'from a timer'],
    ],
    load: async () => (await import('../repair/backup.ts')).backupCommand,
  },
  {
    name: 'erase',
    aliases: underNouns('erase'),
    group: 'Keep',
    summary: 'remove the words of messages for good; their places stay, and say why',
    arguments: [{ name: 'id', many: true }],
    options: {
      reason: { value: '<text>', help: 'why; it stays where the words were' },
      by: { value: '<name>', help: 'who; otherwise the name of this user' },
      yes: { short: 'y', help: 'do not ask' },
    },
    examples: [
      ['skein erase q2w6nb --reason "a password"', 'one message; asks first'],
      ['skein erase q2w6nb m3x5td --reason "asked to" --by anna --yes', 'two, without asking'],
    ],
    load: async () => (await import('../repair/erase.ts')).eraseCommand,
  },
]
