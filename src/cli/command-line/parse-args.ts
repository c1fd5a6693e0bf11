import { similarWords } from '../../core/similar-words.ts'
import type { Args, Command, CommandOption } from './command.ts'
import { UsageError } from './usage-error.ts'

/** The options of every command. */
export const commonOptions: Readonly<Record<string, CommandOption>> = {
  db: { value: '<file|url>', help: 'store; default .skein/ above you, else your data folder' },
  json: { equals: 'fields', help: 'JSON for machines, errors too; =id,title picks fields' },
  quiet: { short: 'q', help: 'nothing but the answer or the data, and errors' },
  'no-color': { help: 'no colours; the same as NO_COLOR=1' },
  debug: { help: 'the stack of an error' },
  help: { short: 'h', help: 'this text' },
}

/** Parses a command line by the declaration of its command. Throws UsageError. */
export function parseArgs(command: Command, argv: readonly string[]): Args {
  const options = { ...command.options, ...commonOptions }
  const values: Record<string, string | true | string[]> = {}
  const words: string[] = []
  const joined = new Set<string>()
  let behind: readonly string[] | null = null

  for (let i = 0; i < argv.length; i++) {
    const word = argv[i]!
    if (word === '--') {
      behind = argv.slice(i + 1)
      break
    }
    if (word.startsWith('--')) i = take(word, i)
    else if (word.startsWith('-') && word !== '-') i = takeShort(word, i)
    else words.push(word)
  }
  if (command.arguments.at(-1)?.behind) {
    checkBehind(command, words, behind)
    return { arguments: words, options: values, joined, ...(behind !== null && { behind }) }
  }
  checkCount(command, [...words, ...(behind ?? [])])
  return { arguments: [...words, ...(behind ?? [])], options: values, joined }

  function take(word: string, at: number): number {
    const equals = word.indexOf('=')
    const name = word.slice(2, equals === -1 ? undefined : equals)
    const option = options[name]
    if (!option)
      throw unknown(
        `--${name}`,
        Object.keys(options).map(known => `--${known}`),
      )
    if (equals !== -1) return join(name, option, word.slice(equals + 1), at)
    return takeValue(name, option, at)
  }

  function takeShort(word: string, at: number): number {
    for (let i = 1; i < word.length; i++) {
      const [name, option] = Object.entries(options).find(([, one]) => one.short === word[i]) ?? []
      if (!name || !option) throw unknown(`-${word[i]}`, [])
      if (!option.value) set(name, option, true, at)
      else if (i < word.length - 1) return join(name, option, word.slice(i + 1).replace(/^=/, ''), at)
      else return takeValue(name, option, at)
    }
    return at
  }

  function takeValue(name: string, option: CommandOption, at: number): number {
    if (!option.value) return set(name, option, true, at)
    const next = argv[at + 1]
    const follows = next !== undefined && next !== '--' && !(next.startsWith('-') && next.length > 1)
    if (follows) return given(name, option, next, at + 1)
    if (option.value.startsWith('[')) return set(name, option, '', at)
    throw new UsageError(`--${name} needs ${option.value}`, helpHint(command))
  }

  function join(name: string, option: CommandOption, value: string, at: number): number {
    joined.add(name)
    return given(name, option, value, at)
  }

  /** An empty value of an option with an optional value is an unset variable of a script, not a missing
   *  value. */
  function given(name: string, option: CommandOption, value: string, at: number): number {
    if (option.value?.startsWith('[') && value.trim() === '')
      throw new UsageError(`--${name} must not be empty`, helpHint(command))
    return set(name, option, value, at)
  }

  function set(name: string, option: CommandOption, value: string | true, at: number): number {
    if (option.value && value === true) throw new UsageError(`--${name} needs ${option.value}`)
    if (!option.value && !option.equals && value !== true) throw new UsageError(`--${name} takes no value`)
    const before = values[name]
    if (option.many && typeof value === 'string') {
      values[name] = [...(Array.isArray(before) ? before : []), value]
    } else if (before !== undefined && before !== value) {
      throw new UsageError(`--${name} was given twice`)
    } else values[name] = value
    return at
  }

  function unknown(word: string, known: readonly string[]): UsageError {
    const [meant] = similarWords(word, known)
    return new UsageError(`there is no option ${word}`, meant ? `Did you mean ${meant}?` : helpHint(command))
  }
}

function checkCount(command: Command, words: readonly string[]): void {
  const { arguments: declared } = command
  const missing = declared[words.length]
  if (missing && !missing.optional && !(missing.many && words.length >= declared.length)) {
    throw new UsageError(`${command.name} needs ${article(missing.name)}`, helpHint(command))
  }
  if (words.length > declared.length && !declared.at(-1)?.many) {
    throw new UsageError(
      `${command.name} does not know what to do with "${words[declared.length]}"`,
      helpHint(command),
    )
  }
}

/** Checks a command that takes everything after `--`; null if there is no `--`. */
function checkBehind(command: Command, words: readonly string[], behind: readonly string[] | null): void {
  const { arguments: declared } = command
  checkCount({ ...command, arguments: declared.slice(0, -1) }, words)
  // `--` without a command is a variable of a script that is not set.
  if (behind?.length === 0 || (behind === null && !declared.at(-1)!.optional))
    throw new UsageError(
      `${command.name} needs a command behind --`,
      `As in: ${command.examples[0]?.[0] ?? ''}`,
    )
}

function article(name: string): string {
  const choices = name.split('|')
  if (choices.length > 1) return `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`
  return /^[aeiou]/.test(name) ? `an ${name}` : `a ${name}`
}

function helpHint(command: Command): string {
  return command.name === '' ? 'skein --help' : `skein ${command.name} --help`
}
