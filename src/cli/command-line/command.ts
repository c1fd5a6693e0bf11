import type { CommandContext } from './command-context.ts'
import { UsageError } from './usage-error.ts'

/** A flag of a command. */
export interface CommandOption {
  readonly short?: string
  /** What stands for its value in the help, such as `<id>`; absent for a switch. In brackets (`[id]`) if it may
   *  be left out. */
  readonly value?: string
  /** What a switch may be given after `=`, and only there: the next word is never taken for it. */
  readonly equals?: string
  readonly help: string
  /** Left out of the help. */
  readonly hidden?: true
  /** May be given more than once. */
  readonly many?: true
}

export interface CommandArgument {
  /** As in the help: `id`, `prompt`. */
  readonly name: string
  readonly optional?: true
  /** Takes all that follow. */
  readonly many?: true
  /** Typed as it stands: the name is the word. */
  readonly literal?: true
  /** Stands behind `--`, so that not a word of it is ours to read: another program's command line. Takes all. */
  readonly behind?: true
}

/** Where a command stands in `skein --help`. */
export type CommandGroup = 'Talk' | 'Look' | 'Keep' | 'Set up'

/** A command as it is declared: the one source of parsing, help, completion and `docs/cli.md`. */
export interface Command {
  readonly name: string
  /** Other names, also two words: `conversation list`. */
  readonly aliases?: readonly string[]
  readonly group: CommandGroup
  /** One line, lower case, without a full stop. */
  readonly summary: string
  readonly arguments: readonly CommandArgument[]
  readonly options: Readonly<Record<string, CommandOption>>
  /** Set if there is nothing that `--json` could print. */
  readonly noJson?: true
  /** At least two: what to type, and what it does. */
  readonly examples: readonly (readonly [command: string, what: string])[]
  /** Loaded when the command is run: starting is a feature. */
  load(): Promise<CommandHandler>
}

/** What was typed, taken apart. A switch is true; an option whose value may be left out is '' without one. */
export interface Args {
  readonly arguments: readonly string[]
  readonly options: Readonly<Record<string, string | true | readonly string[] | undefined>>
}

/** Runs a command. Returns its exit code; errors are thrown. */
export type CommandHandler = (args: Args, context: CommandContext) => Promise<number>

/** The value of an option, if it was given one. */
export function textOption(args: Args, name: string): string | undefined {
  const value = args.options[name]
  return typeof value === 'string' ? value : undefined
}

/** All values of an option that may be given more than once. */
export function textOptions(args: Args, name: string): readonly string[] {
  const value = args.options[name]
  return Array.isArray(value) ? value : typeof value === 'string' ? [value] : []
}

export function hasOption(args: Args, name: string): boolean {
  return args.options[name] !== undefined
}

/** `-l <n>`: a whole number from 1 to `most`. */
export function limitOption(args: Args, otherwise: number, most: number): number {
  const text = textOption(args, 'limit')
  if (text === undefined) return otherwise
  const n = /^\d+$/.test(text) ? Number(text) : 0
  if (n < 1 || n > most)
    throw new UsageError(`-l takes a number from 1 to ${most}, not ${JSON.stringify(text)}`)
  return n
}
