import type { CommandContext } from './command-context.ts'
import { UsageError } from './usage-error.ts'

/** A flag of a command. */
export interface CommandOption {
  readonly short?: string
  /** The placeholder of its value in the help, such as `<id>`, or `[id]` if the value is optional. Absent for
   *  a switch. */
  readonly value?: string
  /** The placeholder of a value that may follow a switch after `=`. The next word is never taken as the
   *  value. */
  readonly equals?: string
  readonly help: string
  /** Not listed in the help. */
  readonly hidden?: true
  /** May be repeated. */
  readonly many?: true
}

export interface CommandArgument {
  /** As the help shows it: `id`, `prompt`. */
  readonly name: string
  readonly optional?: true
  /** Takes all remaining words. */
  readonly many?: true
  /** The word to type is the name itself. */
  readonly literal?: true
  /** Takes everything after `--`, unparsed: the command line of another program. */
  readonly behind?: true
}

/** The section of `skein --help` that lists the command. */
export type CommandGroup = 'Talk' | 'Look' | 'Keep' | 'Set up'

/** The declaration of a command: the only source of parsing, help, completion and `docs/cli.md`. */
export interface Command {
  readonly name: string
  /** Other names, also of two words: `conversation list`. */
  readonly aliases?: readonly string[]
  readonly group: CommandGroup
  /** One line, lower case, without a full stop. */
  readonly summary: string
  readonly arguments: readonly CommandArgument[]
  readonly options: Readonly<Record<string, CommandOption>>
  /** Set if `--json` has nothing to print. */
  readonly noJson?: true
  /** At least two: the command line, and what it does. */
  readonly examples: readonly (readonly [command: string, what: string])[]
  /** Loads the code when the command runs, which keeps the start fast. */
  load(): Promise<CommandHandler>
}

/** A parsed command line. A switch is true; an option without its optional value is ''. */
export interface Args {
  readonly arguments: readonly string[]
  /** The words after `--`, of a command that takes them unparsed. Absent without `--`. */
  readonly behind?: readonly string[]
  readonly options: Readonly<Record<string, string | true | readonly string[] | undefined>>
  /** The name that was typed: its own, or another one of the command. */
  readonly calledAs?: string
  /** The options whose value was joined to them: `--continue=x`, `-cx`. */
  readonly joined?: ReadonlySet<string>
}

/** Runs a command and returns its exit code. Errors are thrown. */
export type CommandHandler = (args: Args, context: CommandContext) => Promise<number>

/** The value of an option, if it has one. */
export function textOption(args: Args, name: string): string | undefined {
  const value = args.options[name]
  return typeof value === 'string' ? value : undefined
}

/** All values of an option that may be repeated. */
export function textOptions(args: Args, name: string): readonly string[] {
  const value = args.options[name]
  return Array.isArray(value) ? value : typeof value === 'string' ? [value] : []
}

export function hasOption(args: Args, name: string): boolean {
  return args.options[name] !== undefined
}

/** `-l <n>`: an integer from 1 to `most`. */
export function limitOption(args: Args, otherwise: number, most: number): number {
  const text = textOption(args, 'limit')
  if (text === undefined) return otherwise
  const n = /^\d+$/.test(text) ? Number(text) : 0
  if (n < 1 || n > most)
    throw new UsageError(`-l takes a number from 1 to ${most}, not ${JSON.stringify(text)}`)
  return n
}
