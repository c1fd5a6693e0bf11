import type { Command } from '../command-line/command.ts'
import { configCommands } from './config.ts'

export const setUpCommands: readonly Command[] = [
  {
    name: 'init',
    group: 'Set up',
    summary: 'keep the conversations of this project in its folder, in .skein/',
    arguments: [],
    options: { bring: { help: 'move the conversations of this project into it without asking' } },
    examples: [
      ['skein init', 'make .skein/ here, out of git, readable by you alone'],
      ['skein init --bring', 'also move the conversations that other stores have of this project'],
      ['skein config', 'says which store is used, and why'],
    ],
    load: async () => (await import('../set-up/init.ts')).initCommand,
  },
  ...configCommands,
  {
    name: 'doctor',
    group: 'Set up',
    summary: 'check Node, the store, the configuration and the keys',
    arguments: [],
    options: { online: { help: 'also ask the providers: are the keys accepted, do the models exist?' } },
    examples: [
      ['skein doctor', 'what works, what does not, and what to do'],
      ['skein doctor --online', 'also asks the providers whether they accept the keys'],
      ['skein doctor --json', 'the same, for machines; exit 1 if something does not work'],
    ],
    load: async () => (await import('../set-up/doctor/doctor.ts')).doctorCommand,
  },
  {
    name: 'migrate',
    group: 'Set up',
    summary: "bring the store to this version's schema",
    arguments: [],
    options: {},
    examples: [
      ['skein migrate', 'as opening it does; a copy of before is kept'],
      ['skein migrate --db old.db', 'another store'],
    ],
    load: async () => (await import('../set-up/migrate.ts')).migrateCommand,
  },
]

/** `all` returns every command, including this one, for the script to complete. */
export function completionDeclaration(all: () => readonly Command[]): Command {
  return {
    name: 'completion',
    group: 'Set up',
    summary: 'print a script that completes commands, flags and ids',
    arguments: [{ name: 'shell' }],
    options: {},
    noJson: true,
    examples: [
      ['source <(skein completion bash)', 'in ~/.bashrc'],
      ['source <(skein completion zsh)', 'in ~/.zshrc, after compinit'],
      ['skein completion fish | source', 'in ~/.config/fish/config.fish'],
    ],
    load: async () => (await import('../set-up/completion.ts')).completionCommand(all()),
  }
}
