import type { Json, JsonObject } from '../../core/json.ts'
import { isObject } from '../wire/is-object.ts'

/** News of a terminal: from `_meta` of a tool call, or from the client's answers about its own terminals. */
export interface TerminalChange {
  readonly terminalId: string
  /** `terminal_info` of the call, such as its working directory. */
  readonly info?: JsonObject
  /** More output. */
  readonly append?: string
  /** The whole output so far. */
  readonly output?: string
  /** How the command ended: `exit_code` and `signal`. */
  readonly exit?: JsonObject
}

/** A terminal as a tool result stores it. */
export interface TerminalRecord {
  readonly terminalId: string
  readonly info: JsonObject | null
  readonly output: string
  readonly exit: JsonObject | null
}

/** The `_meta` keys under which agents send terminals. */
const terminalKeys = new Set(['terminal_info', 'terminal_output', 'terminal_output_delta', 'terminal_exit'])

/** Reads the terminals in the `_meta` of a tool call. An agent that sends an output under both keys sends the
 *  same output. */
export function terminalsInMeta(meta: JsonObject, callId: string): readonly TerminalChange[] {
  const changes: TerminalChange[] = []
  const idIn = ({ terminal_id: id }: JsonObject) => (typeof id === 'string' && id !== '' ? id : callId)
  const { terminal_info: info, terminal_exit: exit } = meta
  const output = meta.terminal_output_delta ?? meta.terminal_output
  if (isObject(info)) changes.push({ terminalId: idIn(info), info: withoutId(info) })
  if (isObject(output) && typeof output.data === 'string')
    changes.push({ terminalId: idIn(output), append: output.data })
  if (isObject(exit)) changes.push({ terminalId: idIn(exit), exit: withoutId(exit) })
  return changes
}

/** The `_meta` of a tool call without its terminals. */
export function metaWithoutTerminals(meta: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(meta).filter(([key]) => !terminalKeys.has(key)))
}

/** Reads the client's answer to `terminal/output` or `terminal/wait_for_exit`. Null if it contains neither an
 *  output nor an exit status. */
export function terminalInAnswer(terminalId: string, answer: unknown): TerminalChange | null {
  if (!isObject(answer)) return null
  const { output, exitStatus } = answer
  const exit = exitOf(isObject(exitStatus) ? exitStatus : answer)
  if (typeof output !== 'string' && !exit) return null
  return { terminalId, ...(typeof output === 'string' ? { output } : {}), ...(exit ? { exit } : {}) }
}

function exitOf({ exitCode, signal }: JsonObject): JsonObject | null {
  if (typeof exitCode !== 'number' && typeof signal !== 'string') return null
  return { exit_code: exitCode ?? null, signal: signal ?? null }
}

function withoutId({ terminal_id: _, ...rest }: JsonObject): JsonObject {
  return rest
}

/** The ids of the terminals that a call shows. */
export function terminalIdsIn(content: readonly JsonObject[]): readonly string[] {
  return content.flatMap(({ type, terminalId }) =>
    type === 'terminal' && typeof terminalId === 'string' ? [terminalId] : [],
  )
}

/** The terminals of one turn. */
export interface Terminals {
  hear(change: TerminalChange): void
  /** Those with these ids that have an output or an exit status. */
  records(ids: Iterable<string>): readonly TerminalRecord[]
}

interface TerminalState {
  readonly output: BoundedText
  info: JsonObject | null
  exit: JsonObject | null
}

export function createTerminals(): Terminals {
  const known = new Map<string, TerminalState>()
  return {
    hear({ terminalId, info, append, output, exit }) {
      const state = known.get(terminalId) ?? { output: createBoundedText(), info: null, exit: null }
      known.set(terminalId, state)
      if (info) state.info = info
      if (output !== undefined) state.output.replace(output)
      if (append !== undefined) state.output.append(append)
      if (exit) state.exit = exit
    },
    records: ids =>
      [...new Set(ids)].flatMap(terminalId => {
        const state = known.get(terminalId)
        const output = state?.output.text() ?? ''
        if (!state || (output === '' && !state.exit)) return []
        return [{ terminalId, info: state.info, output, exit: state.exit }]
      }),
  }
}

/** The form of records in the metadata of a result. An output that equals the result's is not repeated. */
export function terminalsToJson(records: readonly TerminalRecord[], output: Json): readonly JsonObject[] {
  return records.map(({ terminalId, info, output: own, exit }) => ({
    id: terminalId,
    ...(info && Object.keys(info).length > 0 ? { info } : {}),
    ...(own === output ? {} : { output: own }),
    ...(exit ? { exit } : {}),
  }))
}

/** The records of a stored result. */
export function terminalsFromJson(stored: Json | undefined, output: Json): readonly TerminalRecord[] {
  if (!Array.isArray(stored)) return []
  return stored.filter(isObject).flatMap(({ id, info, output: own = output, exit }) =>
    typeof id === 'string'
      ? [
          {
            terminalId: id,
            info: isObject(info) ? info : null,
            output: typeof own === 'string' ? own : '',
            exit: isObject(exit) ? exit : null,
          },
        ]
      : [],
  )
}

/** A text of any length, of which the beginning and the end are kept. */
interface BoundedText {
  append(text: string): void
  /** Replaces everything. */
  replace(text: string): void
  /** The text; a line in its middle says how many bytes are left out. */
  text(): string
}

/** Most characters to keep of the beginning, and as many of the end. */
const mostKept = 64 * 1024

export function createBoundedText(most: number = mostKept): BoundedText {
  let head = ''
  let tail = ''
  let leftOut = 0

  /** Drops the beginning of the end. A surrogate pair is not split. */
  function cutTail(): void {
    let at = tail.length - most
    if (at <= 0) return
    if (isLowSurrogate(tail, at)) at++
    leftOut += Buffer.byteLength(tail.slice(0, at))
    tail = tail.slice(at)
  }

  function append(text: string): void {
    let room = tail === '' && leftOut === 0 ? Math.min(most - head.length, text.length) : 0
    if (room > 0 && room < text.length && isLowSurrogate(text, room)) room--
    if (room > 0) head += text.slice(0, room)
    if (room < text.length) tail += text.slice(room)
    // Not at every chunk: cutting copies the text.
    if (tail.length > 2 * most) cutTail()
  }

  return {
    append,
    replace(text) {
      head = ''
      tail = ''
      leftOut = 0
      append(text)
    },
    text() {
      cutTail()
      return leftOut === 0 ? head + tail : `${head}\n[… ${leftOut} bytes left out …]\n${tail}`
    },
  }
}

function isLowSurrogate(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff
}
