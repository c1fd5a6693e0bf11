import type { Command, Group, Option } from './command.ts'
import { commands, prompt } from './commands/index.ts'
import { commonOptions } from './parse.ts'

const groups: readonly Group[] = ['Talk', 'Look', 'Keep', 'Set up']

/** `skein --help`: the map. Only what exists is on it. */
export function overview(): string {
  const listed = groups.flatMap(group => {
    const names = commands.filter(command => command.group === group).map(({ name }) => name)
    return names.length === 0 ? [] : [`${group.padEnd(8)}${names.join('  ')}`]
  })
  return [
    'Skein keeps the conversations of AI agents.',
    '',
    ...prompt.examples.map(([typed, what]) => `  ${typed.padEnd(33)}${what}`),
    '',
    ...listed,
    '',
    ...optionLines({ ...prompt.options, ...commonOptions }),
    '',
    'Exit: 0 ok, 1 failure, 2 usage, 3 not found, 4 conflict, 130 interrupted',
    'skein <command> --help has examples. Docs: docs/cli.md',
    '',
  ].join('\n')
}

/** The help of one command. It opens with examples. */
export function helpOf(command: Command): string {
  const width = Math.max(...command.examples.map(([typed]) => typed.length)) + 2
  return [
    `${capital(command.summary)}.`,
    '',
    ...command.examples.map(([typed, what]) => `  ${typed.padEnd(width)}${what}`),
    '',
    `Usage: ${usageOf(command)}`,
    ...(command.aliases?.length ? [`Also:  ${command.aliases.map(name => `skein ${name}`).join(', ')}`] : []),
    '',
    ...optionLines({ ...command.options, ...commonOptions }),
    '',
  ].join('\n')
}

export function usageOf({ name, arguments: args, options }: Command): string {
  const words = args.map(({ name, optional, many }) => {
    const word = `<${name}>${many ? '…' : ''}`
    return optional ? `[${word}]` : word
  })
  const flags = Object.keys(options).length > 0 ? ['[options]'] : []
  return ['skein', name, ...words, ...flags].filter(word => word !== '').join(' ')
}

export function optionLines(options: Readonly<Record<string, Option>>): readonly string[] {
  const shown = Object.entries(options).filter(([, option]) => !option.hidden)
  const flags = shown.map(([name, { short, value }]) => {
    return `  ${short ? `-${short}, ` : '    '}--${name}${value ? ` ${value}` : ''}`
  })
  const width = Math.max(...flags.map(flag => flag.length)) + 2
  return shown.map(([, { help }], i) => `${flags[i]!.padEnd(width)}${help}`)
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
