import { similarWords } from '../core/similar-words.ts'
import type { Command } from './command-line/command.ts'
import { commonOptions } from './command-line/parse-args.ts'
import { UsageError } from './command-line/usage-error.ts'
import { commands, prompt } from './commands/index.ts'

/** A command, and its remaining words. */
export interface FoundCommand {
  readonly command: Command
  readonly rest: readonly string[]
  /** The name that was typed, with `conversation` for `convo`. Absent for a prompt. */
  readonly calledAs?: string
  /** True after `--help`, and for `help <command>`: prints the help instead of running the command. */
  readonly wantsHelp: boolean
}

/** The command of a command line. `help`, and `help` before a command, print help. Throws UsageError for
 *  `help` before anything else: it is not a prompt, which may cost money. */
export function findCommand(argv: readonly string[]): FoundCommand {
  const [first, ...about] = argv
  if (first === 'help') {
    const name = about.map(noun).join(' ')
    const one = name === '' || name === 'ask' || nouns.has(name) ? prompt : byName(name)
    if (!one) throw noCommand(about)
    return { command: one, rest: [], wantsHelp: true }
  }
  const { command, rest, calledAs } = commandIn(argv)
  const words = rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest
  const wantsHelp = words.includes('--help') || words.includes('-h')
  return { command, rest, wantsHelp, ...(calledAs !== undefined && { calledAs }) }
}

/** The nouns of the origin documents (`conversation`, `convo`, `sessions`) may precede a verb. Anything else
 *  is a prompt, unless it is a single word that looks like a misspelt command. */
function commandIn(argv: readonly string[]): Omit<FoundCommand, 'wantsHelp'> {
  const at = lengthOfCommon(argv)
  const [first, second] = argv.slice(at)
  if (first === undefined || first.startsWith('-')) return { command: prompt, rest: argv }
  const without = (words: number) => [...argv.slice(0, at), ...argv.slice(at + words)]
  if (first === 'ask') return { command: prompt, rest: without(1) }
  if (second !== undefined) {
    const calledAs = `${noun(first)} ${second}`
    const two = byName(calledAs)
    if (two) return { command: two, rest: without(2), calledAs }
  }
  const one = byName(first)
  if (one) return { command: one, rest: without(1), calledAs: first }
  if (nouns.has(first) && second === '--help') return { command: prompt, rest: without(1) }
  if (nouns.has(first)) throw noVerb(first, second)
  const [meant] = first.includes(' ') ? [] : similarWords(first, commands.flatMap(namesOf))
  const isAlone = argv.slice(at + 1).every(word => word.startsWith('-'))
  if (meant && isAlone) {
    throw new UsageError(
      `there is no command ${first}`,
      `Did you mean skein ${meant}? To ask it: skein ask ${first}`,
    )
  }
  return { command: prompt, rest: argv }
}

/** `help nope`: the command with a similar name, or all of them. */
function noCommand(about: readonly string[]): UsageError {
  const typed = about.join(' ')
  const [meant] = similarWords(typed, commands.flatMap(namesOf))
  const known = meant === undefined ? 'skein --help lists the commands.' : `Did you mean skein help ${meant}?`
  return new UsageError(`there is no command ${typed}`, `${known} To ask it: skein ask help ${typed}`)
}

/** `sessions nope`: where the verb is, or which one was meant. */
function noVerb(first: string, verb: string | undefined): UsageError {
  if (verb === undefined || verb.startsWith('-'))
    return new UsageError(`${first} needs a verb`, `skein ${first} list. All: skein --help`)
  if (byName(verb) || verb === 'ask')
    return new UsageError(`${verb} is not a verb of ${first}`, `It is a command: skein ${verb}`)
  const lead = `${noun(first)} `
  const verbs = commands
    .flatMap(namesOf)
    .flatMap(name => (name.startsWith(lead) ? name.slice(lead.length) : []))
  const [meant] = similarWords(verb, verbs)
  const hint = meant === undefined ? 'skein --help lists them' : `Did you mean skein ${first} ${meant}?`
  return new UsageError(`${first} has no verb ${verb}`, hint)
}

/** The number of leading words that are common options: a command may follow them. */
function lengthOfCommon(argv: readonly string[]): number {
  let at = 0
  for (; at < argv.length; at++) {
    const [flag = '', value] = argv[at]!.split('=', 2)
    const [, option] =
      Object.entries(commonOptions).find(
        ([name, { short }]) => flag === `--${name}` || flag === `-${short}`,
      ) ?? []
    if (!option) break
    if (option.value && value === undefined) at++
  }
  return at
}

const nouns: ReadonlySet<string> = new Set(['conversation', 'convo', 'sessions'])

function noun(word: string): string {
  return word === 'convo' ? 'conversation' : word
}

function namesOf({ name, aliases = [] }: Command): readonly string[] {
  return [name, ...aliases]
}

/** The commands whose hints have to name the store. The others do not use it, or name it themselves. */
export const storeCommands: ReadonlySet<string> = new Set(
  commands.map(({ name }) => name).filter(name => !['config', 'completion', 'copy', 'init'].includes(name)),
)

function byName(name: string): Command | undefined {
  return commands.find(command => namesOf(command).includes(name))
}
