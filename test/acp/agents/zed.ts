import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import type { ClientOptions } from './client.ts'

/** The capabilities of Zed: files, terminals of its own, and terminals of the agent in `_meta`. */
export const zedCapabilities = {
  fs: { readTextFile: true, writeTextFile: true },
  terminal: true,
  _meta: { terminal_output: true, 'terminal-auth': true },
}

interface EditorTerminal {
  output: string
  readonly exit: Promise<{ readonly exitCode: number | null; readonly signal: string | null }>
  isOver: boolean
}

interface TerminalParams {
  readonly command?: string
  readonly args?: readonly string[]
  readonly terminalId?: string
}

/** The options of an editor like Zed: it runs commands in terminals of its own. */
export function asZed(): Pick<ClientOptions, 'capabilities' | 'onRequest'> {
  const terminals = new Map<string, EditorTerminal>()

  function run({ command = '', args = [] }: TerminalParams): EditorTerminal {
    // By a shell, as Zed does: goose sends a whole line as the command.
    const line = [command, ...args.map(quoted)].join(' ')
    const child = spawn('/bin/sh', ['-c', line], { stdio: ['ignore', 'pipe', 'pipe'] })
    const ended = new Promise<{ exitCode: number | null; signal: string | null }>(resolve => {
      child.on('close', (exitCode, signal) => resolve({ exitCode, signal }))
    })
    const terminal: EditorTerminal = { output: '', exit: ended, isOver: false }
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        terminal.output += text
      })
    void ended.then(() => {
      terminal.isOver = true
    })
    return terminal
  }

  return {
    capabilities: zedCapabilities,
    onRequest(method, asked) {
      const params = asked as TerminalParams
      if (method === 'terminal/create') {
        const terminalId = randomUUID()
        terminals.set(terminalId, run(params))
        return { terminalId }
      }
      const terminal = terminals.get(params.terminalId ?? '')
      if (!terminal) return undefined
      switch (method) {
        case 'terminal/output':
          return terminal.isOver
            ? terminal.exit.then(exitStatus => ({ output: terminal.output, truncated: false, exitStatus }))
            : { output: terminal.output, truncated: false }
        case 'terminal/wait_for_exit':
          return terminal.exit
        case 'terminal/release':
          terminals.delete(params.terminalId!)
          return {}
        default:
          return undefined
      }
    },
  }
}

function quoted(arg: string): string {
  return `'${arg.replaceAll("'", "'\\''")}'`
}

interface TerminalUpdate {
  readonly sessionUpdate: string
  readonly toolCallId?: string
  readonly content?: readonly { readonly type?: string; readonly terminalId?: string }[]
  readonly _meta?: {
    readonly terminal_info?: { readonly terminal_id: string }
    readonly terminal_output?: { readonly terminal_id: string; readonly data: string }
    readonly terminal_exit?: { readonly terminal_id: string; readonly exit_code: number | null }
  }
}

/** A terminal of the agent in the thread of an editor. */
export interface ShownTerminal {
  readonly callId: string
  output: string
  exitCode: number | null
}

/** The terminals that Zed shows for these updates: `terminal_info` of a new call creates one, and a call that
 *  shows a terminal that does not exist is an error. `own` are terminals of the editor. */
export function shownTerminals(
  updates: readonly { readonly sessionUpdate: string }[],
  own: ReadonlySet<string> = new Set(),
): readonly ShownTerminal[] {
  const shown = new Map<string, ShownTerminal>()
  for (const update of updates as readonly TerminalUpdate[]) {
    const { terminal_info: info, terminal_output: output, terminal_exit: exit } = update._meta ?? {}
    if (update.sessionUpdate === 'tool_call' && info)
      shown.set(info.terminal_id, { callId: update.toolCallId ?? '', output: '', exitCode: null })
    for (const { type, terminalId = '' } of Array.isArray(update.content) ? update.content : [])
      if (type === 'terminal' && !shown.has(terminalId) && !own.has(terminalId))
        throw new Error(`there is no terminal ${terminalId}`)
    if (update.sessionUpdate !== 'tool_call_update') continue
    if (output) shown.get(output.terminal_id)!.output += output.data
    if (exit) shown.get(exit.terminal_id)!.exitCode = exit.exit_code
  }
  return [...shown.values()]
}
