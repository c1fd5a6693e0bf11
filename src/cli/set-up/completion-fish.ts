import type { Completed, CompletedOption, Kind } from './completion-words.ts'

/** The script for fish. Titles stand beside the ids: `ls` prints them in the form that fish wants. */
export function fishScript(commands: readonly Completed[]): string {
  const [prompt, ...named] = commands as [Completed, ...Completed[]]
  const first = new Map(
    named.map(({ name, summary }) => [
      name.split(' ')[0]!,
      name.includes(' ') ? 'commands for conversations' : summary,
    ]),
  )
  const nouns = [
    ...new Set(named.filter(({ name }) => name.includes(' ')).map(({ name }) => name.split(' ')[0]!)),
  ]
  return [
    '# Completion of skein for fish. In ~/.config/fish/config.fish: skein completion fish | source',
    'function __skein_ids; skein ls -q 2>/dev/null | cut -f 1,2; end',
    // The words so far without flags, the last one unfinished and not among them.
    `function __skein_at`,
    `  set -l words (string match -v -- '-*' (commandline -opc))[2..]`,
    `  test "$words[1..2]" = "$argv" -o "$words[1]" = "$argv"`,
    'end',
    'function __skein_first',
    `  test (count (string match -v -- '-*' (commandline -opc))) -le 1`,
    'end',
    'function __skein_noun',
    `  set -l words (string match -v -- '-*' (commandline -opc))[2..]`,
    `  test (count $words) -eq 1 -a "$words[1]" = "$argv"`,
    'end',
    'complete -c skein -f',
    ...[...first].map(
      ([name, summary]) => `complete -c skein -n __skein_first -a ${quoted(name)} -d ${quoted(summary)}`,
    ),
    ...prompt.options.map(option => optionLine('__skein_first', option)),
    ...nouns.flatMap(noun =>
      named
        .filter(({ name }) => name.startsWith(`${noun} `))
        .map(({ name, summary }) => {
          const verb = name.slice(noun.length + 1)
          return `complete -c skein -n ${quoted(`__skein_noun ${noun}`)} -a ${quoted(verb)} -d ${quoted(summary)}`
        }),
    ),
    ...named.flatMap(({ name, options, argument }) => {
      const when = `__skein_at ${name}`
      const words =
        argument === 'none' ? [] : [`complete -c skein -n ${quoted(when)} -a ${quoted(wordsOf(argument))}`]
      return [...words, ...options.map(option => optionLine(when, option))]
    }),
    '',
  ].join('\n')
}

function optionLine(when: string, { name, short, help, value }: CompletedOption): string {
  const flags = `-l ${quoted(name)}${short === null ? '' : ` -s ${quoted(short)}`}`
  const given =
    value === null
      ? ''
      : value === 'file'
        ? ' -r -F'
        : ` -x${value === 'none' ? '' : ` -a ${quoted(wordsOf(value))}`}`
  return `complete -c skein -n ${quoted(when)} ${flags} -d ${quoted(help)}${given}`
}

function wordsOf(kind: Kind): string {
  if (kind === 'id') return '(__skein_ids)'
  return typeof kind === 'string' ? '' : kind.join(' ')
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
