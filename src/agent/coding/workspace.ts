/** Where coding tools work: the files and commands of one project. The paths are absolute. */
export interface Workspace {
  /** The project, and further directories that belong to it. The first one is the working directory. */
  readonly directories: readonly [string, ...string[]]
  /** The text of a file. Throws if there is none, or if it is not text. */
  readText(path: string, signal: AbortSignal): Promise<string>
  /** Writes a whole file. Keeps the mode of an existing one, and makes missing directories. */
  writeText(path: string, text: string, signal: AbortSignal): Promise<void>
  /** Runs a command line in a shell until it exits, the time is over, or the signal is aborted. */
  run(command: ShellCommand, signal: AbortSignal): Promise<ShellResult>
}

/** Most characters of the output of a command: half from its beginning, half from its end. */
export const mostOutput = 100_000

/** A command line to run. */
export interface ShellCommand {
  readonly command: string
  readonly directory: string
  readonly timeoutMs: number
  /** Identifies the call, for a workspace that shows the command while it runs. */
  readonly callId: string
}

/** The outcome of a command. */
export interface ShellResult {
  /** stdout and stderr as they came. A long output has only its beginning and its end. */
  readonly output: string
  /** Null if a signal ended it. */
  readonly exitCode: number | null
  /** The signal that ended it, or null. */
  readonly signal: string | null
  readonly timedOut: boolean
}
