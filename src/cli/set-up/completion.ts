import type { Command, CommandHandler } from '../command-line/command.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { UsageError } from '../command-line/usage-error.ts'
import {
  type CompletableCommand,
  type CompletableOption,
  type CompletionKind,
  completableCommands,
} from './completable-commands.ts'

const shells = { bash: bashScript, zsh: zshScript, fish: fishScript }

/** `skein completion`: prints a script that completes these commands, their flags and conversation ids. */
export function completionCommand(commands: readonly Command[]): CommandHandler {
  return async (args, context) => {
    const name = args.arguments[0]!
    if (!Object.hasOwn(shells, name)) {
      throw new UsageError(`completion knows bash, zsh and fish; not "${name}"`, 'skein completion --help')
    }
    context.out.write(shells[name as keyof typeof shells](completableCommands(commands)))
    return exitCode.ok
  }
}

/** The script for bash. It calls `skein ls` to complete ids. Several candidates are listed with their titles;
 *  a single one is inserted without. */
function bashScript(commands: readonly CompletableCommand[]): string {
  const words = commands.map(({ name }) => name).filter(name => name !== '')
  const first = [...new Set(words.map(name => name.split(' ')[0]!))]
  const nouns = [...new Set(words.filter(name => name.includes(' ')).map(name => name.split(' ')[0]!))]
  const verbs = nouns.map(noun => {
    const list = words.filter(name => name.startsWith(`${noun} `)).map(name => name.slice(noun.length + 1))
    return `    ${noun}) verbs=${shellQuoted(list.join(' '))} ;;`
  })
  return `# Completion of skein for bash. In ~/.bashrc: source <(skein completion bash)
# Completes $current with the lines on stdin: a word, a tab, what it is.
_skein_described() {
  local line word about
  local -a words=() shown=()
  while IFS= read -r line; do
    word=\${line%%$'\\t'*} about=\${line#*$'\\t'} about=\${about%%$'\\t'*}
    if [[ $word != "$current"* ]]; then continue; fi
    words+=("$word") shown+=("$word  (\${about:0:60})")
  done
  if (( \${#words[@]} > 1 )) && [[ \${COMP_TYPE:-9} != 37 ]]; then COMPREPLY=("\${shown[@]}"); else COMPREPLY=("\${words[@]}"); fi
}
# The first eight characters of an id, or all of it if more is typed.
_skein_ids() { skein ls -q 2>/dev/null | if (( \${#current} > 8 )); then cat; else sed -E 's/^(.{8})[^\t]*/\\1/'; fi; }
_skein_models() { skein config models -q 2>/dev/null | cut -f 2,3; }
_skein() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} command= verbs= flags= kind= word i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ $word == -* ]]; then continue; fi
    if [[ -z $command ]]; then command=$word
    elif [[ -n $verbs && $command != *" "* ]]; then command="$command $word"
    fi
    case $command in
${verbs.join('\n')}
    *) verbs= ;;
    esac
  done
  case $command in
${commands.map(bashCase).join('\n')}
  esac
  if [[ $current == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$current")); return; fi
  if [[ -z $command && $kind == first ]]; then COMPREPLY=($(compgen -W ${shellQuoted(first.join(' '))} -- "$current")); return; fi
  if [[ -n $verbs && $command != *" "* ]]; then COMPREPLY=($(compgen -W "$verbs" -- "$current")); return; fi
  case $kind in
  id) _skein_described < <(_skein_ids) ;;
  model) _skein_described < <(_skein_models) ;;
  file) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$current")) ;;
  words:*) COMPREPLY=($(compgen -W "\${kind#words:}" -- "$current")) ;;
  esac
}
complete -F _skein skein
`
}

function bashCase({ name, options, argument }: CompletableCommand): string {
  const flags = options.flatMap(({ name, short }) => [`--${name}`, ...(short === null ? [] : [`-${short}`])])
  const values = options
    .filter(({ value }) => value !== null)
    .map(({ name, short, value }) => {
      const pattern = [`--${name}`, ...(short === null ? [] : [`-${short}`])].join('|')
      return `    ${pattern}) kind=${shellQuoted(kindText(value!))} ;;`
    })
  return `  ${shellQuoted(name)})
    flags=${shellQuoted(flags.join(' '))} kind=${shellQuoted(name === '' ? 'first' : kindText(argument))}
    case $before in
${values.join('\n')}
    esac ;;`
}

function kindText(kind: CompletionKind): string {
  return typeof kind === 'string' ? kind : `words:${kind.join(' ')}`
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** The script for zsh. It shows titles next to ids. */
function zshScript(commands: readonly CompletableCommand[]): string {
  const [prompt, ...named] = commands as [CompletableCommand, ...CompletableCommand[]]
  const single = named.filter(({ name }) => !name.includes(' '))
  const pairs = Map.groupBy(
    named.filter(({ name }) => name.includes(' ')),
    ({ name }) => name.split(' ')[0]!,
  )
  const nouns = [...pairs].map(([noun, list]) => {
    const verbs = list.map(({ name, summary }) =>
      shellQuoted(`${name.slice(noun.length + 1)}:${escapeColons(summary)}`),
    )
    const cases = list.map(one => zshCase(one.name.slice(noun.length + 1), one))
    return `  ${shellQuoted(noun)})
    if (( CURRENT == 3 )); then
      local -a verbs=(${verbs.join(' ')})
      _describe verb verbs
    else
      local verb=$words[3]
      words=("\${(@)words[2,-1]}"); (( CURRENT-- ))
      words=("\${(@)words[2,-1]}"); (( CURRENT-- ))
      case $verb in
${cases.join('\n')}
      esac
    fi ;;`
  })
  const first = [
    ...single.map(({ name, summary }) => shellQuoted(`${name}:${escapeColons(summary)}`)),
    ...[...pairs.keys()].map(noun => shellQuoted(`${noun}:commands for conversations`)),
  ]
  return `#compdef skein
# Completion of skein for zsh. In ~/.zshrc, after compinit: source <(skein completion zsh)
_skein_ids() {
  local -a ids
  local id title rest
  while IFS=$'\\t' read -r id title rest; do
    if (( \${#PREFIX} <= 8 )); then id=\${id[1,8]}; fi
    ids+=("$id:\${title//:/\\\\:}")
  done < <(skein ls -q 2>/dev/null)
  _describe conversation ids
}
_skein_models() {
  local -a models
  local mark name id rest
  while IFS=$'\\t' read -r mark name id rest; do models+=("$name:$id"); done < <(skein config models -q 2>/dev/null | sed 's/^\t/ \t/')
  _describe model models
}
_skein() {
  # Flags may come before a command. They do not belong to it.
  local -a known=(${[...new Set([...single.map(({ name }) => name), ...pairs.keys()])].map(shellQuoted).join(' ')})
  local at
  for (( at = 3; at < CURRENT; at++ )); do
    if [[ $words[2] == -* ]] && (( $known[(Ie)$words[at]] )); then
      words=("$words[1]" "\${(@)words[at,-1]}"); (( CURRENT -= at - 2 ))
      break
    fi
  done
  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
    local -a commands=(${first.join(' ')})
    _describe command commands
    return
  fi
  case $words[2] in
${nouns.join('\n')}
  *)
    local command=$words[2]
    if [[ $command != -* ]]; then words=("\${(@)words[2,-1]}"); (( CURRENT-- )); fi
    case $command in
${single.map(one => zshCase(one.name, one)).join('\n')}
    *) _arguments ${prompt.options.flatMap(zshSpecs).join(' ')} ;;
    esac ;;
  esac
}
compdef _skein skein
`
}

function zshCase(name: string, { options, argument }: CompletableCommand): string {
  const rest = argument === 'none' ? [] : [shellQuoted(`*:argument:${zshAction(argument)}`)]
  return `    ${shellQuoted(name)}) _arguments ${[...options.flatMap(zshSpecs), ...rest].join(' ')} ;;`
}

function zshSpecs({ name, short, help, value }: CompletableOption): readonly string[] {
  const text = `[${help.replaceAll(/[[\]\\]/g, '\\$&').replaceAll(':', '\\:')}]`
  const action = value === null ? '' : `:value:${zshAction(value)}`
  return [`--${name}`, ...(short === null ? [] : [`-${short}`])].map(flag =>
    shellQuoted(`${flag}${text}${action}`),
  )
}

function zshAction(kind: CompletionKind): string {
  if (kind === 'id') return '_skein_ids'
  if (kind === 'model') return '_skein_models'
  if (kind === 'file') return '_files'
  return kind === 'none' ? ' ' : `(${kind.join(' ')})`
}

function escapeColons(text: string): string {
  return text.replaceAll(':', '\\:')
}

/** The script for fish. It shows titles next to ids, in the form that `skein ls` prints. */
function fishScript(commands: readonly CompletableCommand[]): string {
  const [prompt, ...named] = commands as [CompletableCommand, ...CompletableCommand[]]
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
    'function __skein_ids',
    '  if test (string length -- (commandline -ct)) -gt 8; skein ls -q 2>/dev/null | cut -f 1,2',
    "  else; skein ls -q 2>/dev/null | cut -f 1,2 | string replace -r '^(.{8})[^\\t]*' '$1'; end",
    'end',
    'function __skein_models; skein config models -q 2>/dev/null | cut -f 2,3; end',
    // The words before the cursor without flags.
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
      ([name, summary]) =>
        `complete -c skein -n __skein_first -a ${fishQuoted(name)} -d ${fishQuoted(summary)}`,
    ),
    ...prompt.options.map(option => fishOption('__skein_first', option)),
    ...nouns.flatMap(noun =>
      named
        .filter(({ name }) => name.startsWith(`${noun} `))
        .map(({ name, summary }) => {
          const verb = name.slice(noun.length + 1)
          return `complete -c skein -n ${fishQuoted(`__skein_noun ${noun}`)} -a ${fishQuoted(verb)} -d ${fishQuoted(summary)}`
        }),
    ),
    ...named.flatMap(({ name, options, argument }) => {
      const when = `__skein_at ${name}`
      const words =
        argument === 'none'
          ? []
          : [`complete -c skein -n ${fishQuoted(when)} -a ${fishQuoted(fishWords(argument))}`]
      return [...words, ...options.map(option => fishOption(when, option))]
    }),
    '',
  ].join('\n')
}

function fishOption(when: string, { name, short, help, value }: CompletableOption): string {
  const flags = `-l ${fishQuoted(name)}${short === null ? '' : ` -s ${fishQuoted(short)}`}`
  const action =
    value === null
      ? ''
      : value === 'file'
        ? ' -r -F'
        : ` -x${value === 'none' ? '' : ` -a ${fishQuoted(fishWords(value))}`}`
  return `complete -c skein -n ${fishQuoted(when)} ${flags} -d ${fishQuoted(help)}${action}`
}

function fishWords(kind: CompletionKind): string {
  if (kind === 'id') return '(__skein_ids)'
  if (kind === 'model') return '(__skein_models)'
  return typeof kind === 'string' ? '' : kind.join(' ')
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
