import type { Completed, CompletedOption, Kind } from './completion-words.ts'

/** The script for zsh. Titles stand beside the ids. */
export function zshScript(commands: readonly Completed[]): string {
  const [prompt, ...named] = commands as [Completed, ...Completed[]]
  const single = named.filter(({ name }) => !name.includes(' '))
  const pairs = Map.groupBy(
    named.filter(({ name }) => name.includes(' ')),
    ({ name }) => name.split(' ')[0]!,
  )
  const nouns = [...pairs].map(([noun, list]) => {
    const verbs = list.map(({ name, summary }) => quoted(`${name.slice(noun.length + 1)}:${colons(summary)}`))
    const cases = list.map(one => caseOf(one.name.slice(noun.length + 1), one))
    return `  ${quoted(noun)})
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
    ...single.map(({ name, summary }) => quoted(`${name}:${colons(summary)}`)),
    ...[...pairs.keys()].map(noun => quoted(`${noun}:commands for conversations`)),
  ]
  return `#compdef skein
# Completion of skein for zsh. In ~/.zshrc, after compinit: source <(skein completion zsh)
_skein_ids() {
  local -a ids
  local id title rest
  while IFS=$'\\t' read -r id title rest; do ids+=("$id:\${title//:/\\\\:}"); done < <(skein ls -q 2>/dev/null)
  _describe conversation ids
}
_skein() {
  # Flags may stand before a command: then they are no concern of it.
  local -a known=(${[...new Set([...single.map(({ name }) => name), ...pairs.keys()])].map(quoted).join(' ')})
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
${single.map(one => caseOf(one.name, one)).join('\n')}
    *) _arguments ${prompt.options.flatMap(specsOf).join(' ')} ;;
    esac ;;
  esac
}
compdef _skein skein
`
}

function caseOf(name: string, { options, argument }: Completed): string {
  const rest = argument === 'none' ? [] : [quoted(`*:argument:${actionOf(argument)}`)]
  return `    ${quoted(name)}) _arguments ${[...options.flatMap(specsOf), ...rest].join(' ')} ;;`
}

function specsOf({ name, short, help, value }: CompletedOption): readonly string[] {
  const text = `[${help.replaceAll(/[[\]\\]/g, '\\$&').replaceAll(':', '\\:')}]`
  const action = value === null ? '' : `:value:${actionOf(value)}`
  return [`--${name}`, ...(short === null ? [] : [`-${short}`])].map(flag =>
    quoted(`${flag}${text}${action}`),
  )
}

function actionOf(kind: Kind): string {
  if (kind === 'id') return '_skein_ids'
  if (kind === 'file') return '_files'
  return kind === 'none' ? ' ' : `(${kind.join(' ')})`
}

function colons(text: string): string {
  return text.replaceAll(':', '\\:')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
