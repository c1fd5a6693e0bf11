import type { Command, CommandArgument, CommandGroup, CommandOption } from './command-line/command.ts'
import { commonOptions } from './command-line/parse-args.ts'
import { commands, prompt } from './commands/index.ts'
import { wrap } from './output/wrap.ts'

const groups: readonly CommandGroup[] = ['Talk', 'Look', 'Keep', 'Set up']

/** Fits the narrowest usual terminal, and also pagers, mails and web pages. */
const usual = 80

/** Below this width, an option and its text get rows of their own. */
const narrow = 64

/** `skein --help`: an overview of all commands. A terminal may be narrower than usual, but lines never get
 *  longer in a wider one. */
export function helpOverview(columns: number = usual): string {
  const width = Math.min(columns, usual)
  const seen = new Set<string>()
  const listed = groups.flatMap(group => {
    // A noun with several verbs is listed once; its help has the verbs.
    const words = commands.filter(command => command.group === group).map(({ name }) => nounOf(name))
    const names = [...new Set(words)].filter(name => !seen.has(name))
    for (const name of names) seen.add(name)
    return names.length === 0 ? [] : hanging(`${group.padEnd(8)}`, names.join('  '), width)
  })
  const options = { ...prompt.options, ...commonOptions, version: { short: 'V', help: 'which one this is' } }
  return [
    ...wrap('Skein keeps the conversations of AI agents.', width),
    '',
    ...exampleLines(prompt.examples, 4, width),
    '',
    ...listed,
    '',
    ...optionLines(options, width),
    '',
    ...wrap('Exit: 0 ok, 1 failure, 2 usage, 3 not found, 4 conflict, 130 interrupted', width),
    ...wrap('skein <command> --help has examples. Docs: docs/cli.md', width),
    '',
  ].join('\n')
}

/** The help of one command, with examples first. */
export function commandHelp(command: Command, columns: number = usual): string {
  const width = Math.min(columns, usual)
  const also = alsoTyped(command.aliases ?? [])
  return [
    ...wrap(`${capital(command.summary)}.`, width),
    '',
    ...exampleLines(command.examples, 2, width),
    '',
    ...hanging('Usage: ', usageLine(command), width),
    ...(also === '' ? [] : hanging('Also:  ', also, width)),
    ...otherVerbs(command.name, width),
    '',
    ...optionLines(optionsOf(command), width),
    '',
  ].join('\n')
}

/** The first word of a name: `dispatch` of `dispatch run`. */
function nounOf(name: string): string {
  return name.split(' ', 1)[0]!
}

/** The other commands of the same noun: `skein dispatch submit|work|show`. */
function otherVerbs(name: string, width: number): readonly string[] {
  const noun = nounOf(name)
  const others = commands.map(one => one.name).filter(one => one !== name && one.startsWith(`${noun} `))
  if (others.length === 0) return []
  const verbs = others.map(one => one.slice(noun.length + 1))
  return hanging('More:  ', `skein ${noun} ${verbs.join(width < usual ? ' | ' : '|')}`, width)
}

/** Other names, grouped by noun: `skein conversation print|show|view`. */
function alsoTyped(aliases: readonly string[]): string {
  const byNoun = Map.groupBy(aliases, alias => (alias.includes(' ') ? alias.split(' ', 1)[0]! : ''))
  const typed = [...byNoun].map(([noun, names]) => {
    const verbs = names.map(name => (noun === '' ? name : name.slice(noun.length + 1))).join('|')
    return ['skein', noun, verbs].filter(word => word !== '').join(' ')
  })
  return typed.join(', ')
}

/** The options of a command, including the common ones. */
function optionsOf({ options, noJson }: Command): Readonly<Record<string, CommandOption>> {
  const { json, ...others } = commonOptions
  return { ...options, ...(noJson ? others : commonOptions) }
}

export function usageLine({ name, arguments: args, options }: Command): string {
  const shown = ({ name, optional, many, literal, behind }: CommandArgument) => {
    const word = `${behind ? '-- ' : ''}${literal ? name : `<${name}>`}${many || behind ? '…' : ''}`
    return optional ? `[${word}]` : word
  }
  const words = args.filter(({ behind }) => !behind).map(shown)
  const last = args.filter(({ behind }) => behind).map(shown)
  const flags = Object.keys(options).length > 0 ? ['[options]'] : []
  return ['skein', name, ...words, ...flags, ...last].filter(word => word !== '').join(' ')
}

/** Each example with its explanation next to it, or below it if the line is too wide. */
function exampleLines(examples: Command['examples'], gap: number, width: number): readonly string[] {
  const column = Math.max(...examples.map(([typed]) => typed.length)) + 2 + gap
  const fits = examples.every(([, what]) => column + what.length <= width)
  return examples.flatMap(([typed, what]) =>
    fits
      ? [`  ${typed}`.padEnd(column) + what]
      : [...hanging('  ', typed, width), ...hanging('      ', what, width)],
  )
}

function optionLines(options: Readonly<Record<string, CommandOption>>, width: number): readonly string[] {
  const shown = Object.entries(options).filter(([, option]) => !option.hidden)
  const flags = shown.map(([name, { short, value, equals }]) => {
    const valueText = value ? ` ${value}` : equals ? `[=${equals}]` : ''
    return `  ${short ? `-${short}, ` : '    '}--${name}${valueText}`
  })
  const column = Math.max(...flags.map(flag => flag.length)) + 2
  return shown.flatMap(([, { help }], i) =>
    width < narrow
      ? [flags[i]!, ...hanging('          ', help, width)]
      : hanging(flags[i]!.padEnd(column), help, width),
  )
}

/** A name and its text. Wrapped lines are aligned with the beginning of the text. */
function hanging(name: string, text: string, width: number): readonly string[] {
  const [first = '', ...more] = wrap(text, width - name.length)
  return [name + first, ...more.map(line => ' '.repeat(name.length) + line)]
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
