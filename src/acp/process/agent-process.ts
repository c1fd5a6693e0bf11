import type { Connection, ConnectionHandlers } from '../wire/connection.ts'

/** The command that starts an agent. */
export interface AgentCommand {
  /** The program. */
  readonly command: string
  /** Its arguments. */
  readonly args: readonly string[]
  /** Its working directory. Default: the current one. */
  readonly cwd?: string
  /** Added to our own environment. */
  readonly env?: Readonly<Record<string, string>>
}

/** How an agent's process ended. */
export interface ProcessEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The last lines of its stderr. */
  readonly stderr: string
}

/** The exit code of a command that cannot be started, as in a shell. */
export const cannotStart = 127

/** The signal or the exit code, for people. */
export function exitReason({ code, signal }: Pick<ProcessEnd, 'code' | 'signal'>): string {
  return signal ?? `code ${String(code)}`
}

/** A running agent process. */
export interface AgentProcess extends Connection {
  readonly pid: number | null
  /** Never rejects. For a command that cannot be started, `stderr` contains the reason and the code is
   *  127. */
  readonly ended: Promise<ProcessEnd>
  /** Ends the process and all its children: closes its stdin, then sends SIGTERM to its process group, then
   *  SIGKILL. Resolves when it has exited. */
  end(): Promise<ProcessEnd>
}

export interface AgentProcessOptions extends ConnectionHandlers {
  /** Receives the agent's stderr. Its last lines are kept in any case. */
  onStderr?(text: string): void
  /** How long it may take to exit after its stdin was closed, and again after SIGTERM. Default: 2,000. */
  readonly graceMs?: number
}

export type StartAgent = (command: AgentCommand, options: AgentProcessOptions) => AgentProcess
