import type { Completed, Kind } from './completion-words.ts'

/** The script for bash. Ids are asked of `skein ls` when they are wanted. */
export function bashScript(commands: readonly Completed[]): string {
  const words = commands.map(({ name }) => name).filter(name => name !== '')
  const first = [...new Set(words.map(name => name.split(' ')[0]!))]
  const nouns = [...new Set(words.filter(name => name.includes(' ')).map(name => name.split(' ')[0]!))]
  const verbs = nouns.map(noun => {
    const list = words.filter(name => name.startsWith(`${noun} `)).map(name => name.slice(noun.length + 1))
    return `    ${noun}) verbs=${quoted(list.join(' '))} ;;`
  })
  return `# Completion of skein for bash. In ~/.bashrc: source <(skein completion bash)
_skein_ids() { skein ls -q 2>/dev/null | cut -f 1; }
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
${commands.map(caseOf).join('\n')}
  esac
  if [[ $current == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$current")); return; fi
  if [[ -z $command && $kind == first ]]; then COMPREPLY=($(compgen -W ${quoted(first.join(' '))} -- "$current")); return; fi
  if [[ -n $verbs && $command != *" "* ]]; then COMPREPLY=($(compgen -W "$verbs" -- "$current")); return; fi
  case $kind in
  id) COMPREPLY=($(compgen -W "$(_skein_ids)" -- "$current")) ;;
  file) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$current")) ;;
  words:*) COMPREPLY=($(compgen -W "\${kind#words:}" -- "$current")) ;;
  esac
}
complete -F _skein skein
`
}

function caseOf({ name, options, argument }: Completed): string {
  const flags = options.flatMap(({ name, short }) => [`--${name}`, ...(short === null ? [] : [`-${short}`])])
  const values = options
    .filter(({ value }) => value !== null)
    .map(({ name, short, value }) => {
      const pattern = [`--${name}`, ...(short === null ? [] : [`-${short}`])].join('|')
      return `    ${pattern}) kind=${quoted(kindText(value!))} ;;`
    })
  return `  ${quoted(name)})
    flags=${quoted(flags.join(' '))} kind=${quoted(name === '' ? 'first' : kindText(argument))}
    case $before in
${values.join('\n')}
    esac ;;`
}

function kindText(kind: Kind): string {
  return typeof kind === 'string' ? kind : `words:${kind.join(' ')}`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
