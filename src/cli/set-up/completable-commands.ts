import type { Command, CommandOption } from '../command-line/command.ts'
import { commonOptions } from '../command-line/parse-args.ts'

/** How a shell completes a value or an argument. */
export type CompletionKind = 'id' | 'model' | 'file' | 'none' | readonly string[]

export interface CompletableOption {
  readonly name: string
  readonly short: string | null
  readonly help: string
  /** Null for a switch. */
  readonly value: CompletionKind | null
}

/** A command under one of its names. */
export interface CompletableCommand {
  /** One word or two: `ls`, `conversation list`. '' for the prompt. */
  readonly name: string
  readonly summary: string
  readonly options: readonly CompletableOption[]
  readonly argument: CompletionKind
}

/** Everything that can be completed, from the declarations. */
export function completableCommands(commands: readonly Command[]): readonly CompletableCommand[] {
  return commands.flatMap(command =>
    namesOf(command).map(name => ({
      name,
      summary: command.summary,
      options: optionsOf(command),
      argument: argumentOf(command),
    })),
  )
}

function namesOf({ name, aliases = [] }: Command): readonly string[] {
  // `convo` is an alias of `conversation`.
  const more = aliases
    .filter(alias => alias.startsWith('conversation '))
    .map(alias => alias.replace('conversation', 'convo'))
  return [name, ...aliases, ...more]
}

function optionsOf({ options, noJson }: Command): readonly CompletableOption[] {
  return Object.entries({ ...options, ...commonOptions })
    .filter(([name, option]) => !option.hidden && !(noJson && name === 'json'))
    .map(([name, option]) => ({
      name,
      short: option.short ?? null,
      help: option.help,
      value: kindOfValue(option),
    }))
}

function kindOfValue({ value }: CommandOption): CompletionKind | null {
  if (value === undefined) return null
  if (/\bid\b/.test(value)) return 'id'
  if (value === '<model>') return 'model'
  return /file/.test(value) ? 'file' : 'none'
}

/** Arguments with a fixed set of words. */
const choices: Readonly<Record<string, readonly string[]>> = {
  shell: ['bash', 'zsh', 'fish'],
  'ls|set|rm': ['ls', 'set', 'rm'],
}

function argumentOf({ arguments: [first] }: Command): CompletionKind {
  if (!first) return 'none'
  return first.name === 'id' ? 'id' : (choices[first.name] ?? 'none')
}
