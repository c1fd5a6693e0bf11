import type {
  AgentContext,
  ClientCapabilities,
  ReadTextFileRequest,
  ReadTextFileResponse,
  TerminalOutputResponse,
  WriteTextFileRequest,
} from '@agentclientprotocol/sdk/unstable'
import { localWorkspace } from '../../agent/coding/local-workspace.ts'
import type { ShellCommand, ShellResult, Workspace } from '../../agent/coding/workspace.ts'
import { mostOutput } from '../../agent/coding/workspace.ts'
import { unlessAborted } from '../../core/wait.ts'

/** What a client does for an agent. */
export type ClientServices = Pick<ClientCapabilities, 'fs' | 'terminal'>

export interface EditorWorkspaceOptions {
  readonly client: Pick<AgentContext, 'request'>
  readonly sessionId: string
  readonly directories: Workspace['directories']
  readonly can: ClientServices
  /** Shows a terminal of the client in the call that runs in it. */
  showTerminal(callId: string, terminalId: string): Promise<void>
}

/** Works through the editor as far as the client offers that, and on this machine otherwise. The editor reads
 *  files with their unsaved changes, shows what is written, and shows commands while they run. */
export function editorWorkspace(options: EditorWorkspaceOptions): Workspace {
  const { client, sessionId, directories, can } = options
  const local = localWorkspace(directories)
  const readText: Workspace['readText'] = async (path, signal) => {
    const params: ReadTextFileRequest = { sessionId, path }
    const calledOff = { cancellationSignal: signal }
    const { content } = await client.request<ReadTextFileResponse>('fs/read_text_file', params, calledOff)
    return content
  }
  const writeText: Workspace['writeText'] = async (path, content, signal) => {
    const params: WriteTextFileRequest = { sessionId, path, content }
    await client.request('fs/write_text_file', params, { cancellationSignal: signal })
  }
  return {
    ...local,
    ...(can.fs?.readTextFile && { readText }),
    ...(can.fs?.writeTextFile && { writeText }),
    ...(can.terminal && { run: (command, signal) => runInTerminal(command, options, signal) }),
  }
}

/** Runs a command in a terminal of the client. Throws the signal's reason. */
async function runInTerminal(
  { command, directory, timeoutMs, callId }: ShellCommand,
  { client, sessionId, showTerminal }: EditorWorkspaceOptions,
  signal: AbortSignal,
): Promise<ShellResult> {
  const { terminalId } = await client.request('terminal/create', {
    sessionId,
    command: 'sh',
    args: ['-c', command],
    cwd: directory,
    outputByteLimit: mostOutput,
  })
  const terminal = { sessionId, terminalId }
  const time = new AbortController()
  const timer = setTimeout(() => time.abort(), timeoutMs)
  try {
    await showTerminal(callId, terminalId)
    const exit = client.request('terminal/wait_for_exit', terminal)
    await unlessAborted(exit, AbortSignal.any([signal, time.signal])).catch(async error => {
      if (!signal.aborted && !time.signal.aborted) throw error
      await client.request('terminal/kill', terminal)
    })
    signal.throwIfAborted()
    const { output, exitStatus } = await client.request<TerminalOutputResponse>('terminal/output', terminal)
    return {
      output,
      exitCode: exitStatus?.exitCode ?? null,
      signal: exitStatus?.signal ?? null,
      timedOut: time.signal.aborted,
    }
  } finally {
    clearTimeout(timer)
    // The client keeps showing what was printed.
    await client.request('terminal/release', terminal).catch(() => undefined)
  }
}
