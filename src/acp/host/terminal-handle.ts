import { isAbsolute } from 'node:path'
import type { StartShell } from '../../agent/coding/run-shell.ts'
import { errorText } from '../../core/error-text.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { TerminalChange } from '../transcript/terminal.ts'
import { isObject } from '../wire/is-object.ts'

/** A command that an agent runs in a terminal of the host. */
export interface TerminalHandle {
  /** The answer to `terminal/output`. */
  output(): JsonObject
  /** The answer to `terminal/wait_for_exit`. */
  readonly ended: Promise<JsonObject>
  /** Ends everything that it has started. */
  end(): Promise<void>
}

/** A command, as `terminal/create` describes it. */
export interface TerminalCommand extends StartShell {
  /** Most bytes of the output that the agent wants. */
  readonly most: number
}

/** Most bytes of an output, whatever the agent wants. What is stored is bounded by the fold. */
const mostBytes = 1024 * 1024

/** Reads `terminal/create`. Null if it is incomplete. */
export function readTerminal(params: JsonObject, otherwise: string): TerminalCommand | null {
  const { command, cwd, outputByteLimit: limit } = params
  const directory = cwd ?? otherwise
  if (typeof command !== 'string' || command === '') return null
  if (typeof directory !== 'string' || !isAbsolute(directory)) return null
  const args = list(params.args).filter(arg => typeof arg === 'string')
  const variables = list(params.env).filter(isObject)
  const env = variables.flatMap(({ name, value }) =>
    typeof name === 'string' && typeof value === 'string' ? [[name, value] as const] : [],
  )
  return {
    command,
    directory,
    // Agents also send a whole command line.
    ...(args.length > 0 && { args }),
    ...(env.length > 0 && { env: Object.fromEntries(env) }),
    most: typeof limit === 'number' && limit >= 0 ? Math.min(limit, mostBytes) : mostBytes,
  }
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}

/** The command as a person would type it: `sh -c 'npm test'` is `npm test`. */
export function commandLine({ command, args = [], env = {} }: StartShell): string {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${quoted(value)}`)
  const [flag, script, ...rest] = args
  const isShell = /(^|\/)(ba|z|da)?sh$/.test(command) && /^-l?c$/.test(flag ?? '') && rest.length === 0
  const words = isShell && script !== undefined ? [script] : [command, ...args.map(quoted)]
  return [...variables, ...words].join(' ')
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

export async function createTerminalHandle(
  { most, ...command }: TerminalCommand,
  onChange: (change: Omit<TerminalChange, 'terminalId'>) => void,
): Promise<TerminalHandle> {
  // Most agents use their own: not loaded before it is needed.
  const { startShell } = await import('../../agent/coding/run-shell.ts')
  let text = ''
  let isCut = false
  let exit: JsonObject | null = null
  const add = (piece: string) => {
    text += piece
    onChange({ append: piece })
    // Not at every piece: cutting copies the text.
    if (text.length > 2 * mostBytes) cut(mostBytes)
  }
  const cut = (bytes: number) => {
    const kept = lastBytes(text, bytes)
    isCut ||= kept.length < text.length
    text = kept
  }
  const { ended, end } = startShell(command, add)
  const over = ended
    .catch((error: unknown) => {
      add(`${errorText(error)}\n`)
      return { exitCode: 127, signal: null }
    })
    .then(({ exitCode, signal }) => {
      exit = { exitCode, signal }
      onChange({ exit: { exit_code: exitCode, signal } })
      return exit
    })
  return {
    output() {
      cut(most)
      return { output: text, truncated: isCut, ...(exit && { exitStatus: exit }) }
    },
    ended: over,
    end,
  }
}

/** The end of a text, at a boundary of characters. */
function lastBytes(text: string, most: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= most) return text
  let from = bytes.length - most
  while (from < bytes.length && (bytes[from]! & 0xc0) === 0x80) from++
  return bytes.subarray(from).toString()
}
