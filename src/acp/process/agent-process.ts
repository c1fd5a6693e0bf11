import type { Connection, ConnectionHandlers } from '../wire/connection.ts'

/** What is typed to start an agent. */
export interface AgentCommand {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string
  /** Added to our own environment. */
  readonly env?: Readonly<Record<string, string>>
}

/** How an agent's process ended. */
export interface ProcessEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The last lines that it wrote to stderr. */
  readonly stderr: string
}

/** The exit code of a command that cannot be started, as in a shell. */
export const cannotStart = 127

/** The signal or the exit code, for people. */
export function exitReason({ code, signal }: Pick<ProcessEnd, 'code' | 'signal'>): string {
  return signal ?? `code ${String(code)}`
}

/** A running agent. */
export interface AgentProcess extends Connection {
  readonly pid: number | null
  /** Never rejects. A command that cannot be started ends with its reason in `stderr` and code 127. */
  readonly ended: Promise<ProcessEnd>
  /** Ends it with everything it has started: its stdin is closed, then its process group is asked to leave
   *  (SIGTERM), then made to (SIGKILL). Resolves when it has gone. */
  end(): Promise<ProcessEnd>
}

export interface AgentProcessOptions extends ConnectionHandlers {
  /** Told of what the agent writes to stderr; otherwise only its last lines are kept. */
  onStderr?(text: string): void
  /** How long it may take to leave after its input has ended, and again after it was asked to. */
  readonly graceMs?: number
}

export type StartAgent = (command: AgentCommand, options: AgentProcessOptions) => AgentProcess
