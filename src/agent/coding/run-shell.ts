import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { endGroup, endWithUs } from '../../system/process-group.ts'
import { mostOutput, type ShellCommand, type ShellResult } from './workspace.ts'

/** How long the processes of a command may take to exit after SIGTERM. */
const graceMs = 2_000

/** How long the output may take to end after the processes have. */
const drainMs = 1_000

/** Models write for bash. */
const shell = existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh'

/** A command that runs in a process group of its own, without input. */
export interface StartedShell {
  /** How it ended. Resolves when its output has ended, too. Rejects if it cannot be started. */
  readonly ended: Promise<Pick<ShellResult, 'exitCode' | 'signal'>>
  /** Ends everything that it has started. */
  end(): Promise<void>
}

/** A command line for the shell, or a program with arguments. */
export interface StartShell extends Pick<ShellCommand, 'command' | 'directory'> {
  /** The arguments of the program. Default: `command` is a command line for the shell. */
  readonly args?: readonly string[]
  /** Variables besides those of this process. Default: none. */
  readonly env?: Readonly<Record<string, string>>
}

/** Starts a command. Processes that it leaves in the background end with it. */
export function startShell(
  { command, args, directory, env }: StartShell,
  onText: (text: string) => void,
): StartedShell {
  const [program, given] = args ? [command, args] : [shell, ['-c', command]]
  const child = spawn(program, given, {
    cwd: directory,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(env && { env: { ...process.env, ...env } }),
  })
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', onText)
    stream.on('error', () => undefined)
  }
  const { pid } = child
  if (pid !== undefined) endWithUs(pid)
  const end = () => (pid === undefined ? Promise.resolve() : endGroup(pid, graceMs))
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<StartedShell['ended']>>()
  let late: NodeJS.Timeout | undefined
  child.on('error', reject)
  child.on('exit', (exitCode, name) => {
    // Background processes end with the command. One that has left the group may hold the output open.
    void end().then(() => {
      late = setTimeout(() => resolve({ exitCode, signal: name }), drainMs)
    })
  })
  child.on('close', (exitCode, name) => void end().then(() => resolve({ exitCode, signal: name })))
  const ended = promise.finally(() => {
    clearTimeout(late)
    child.stdout.destroy()
    child.stderr.destroy()
    void end()
  })
  return { ended, end }
}

/** Runs a command line in a shell until it exits: everything that it has started ends with the time limit or
 *  with the signal. Throws the signal's reason. */
export async function runShell(
  { command, directory, timeoutMs }: ShellCommand,
  signal: AbortSignal,
): Promise<ShellResult> {
  signal.throwIfAborted()
  const output = boundedText(mostOutput)
  const { ended, end } = startShell({ command, directory }, output.add)
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    void end()
  }, timeoutMs)
  const abort = () => void end()
  signal.addEventListener('abort', abort, { once: true })
  try {
    const result = await ended
    signal.throwIfAborted()
    return { ...result, output: output.text(), timedOut }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}

/** Keeps the beginning and the end of a text of any length. */
function boundedText(most: number): { add(text: string): void; text(): string } {
  const half = most / 2
  let head = ''
  let tail = ''
  let length = 0
  return {
    add(text) {
      length += text.length
      const room = half - head.length
      head += text.slice(0, Math.max(0, room))
      tail += text.slice(Math.max(0, room))
      if (tail.length > 2 * half) tail = tail.slice(-half)
    },
    text() {
      const end = tail.slice(-half)
      const missing = length - head.length - end.length
      const gap = missing > 0 ? `\n[${missing} characters left out]\n` : ''
      return `${head}${gap}${end}`.toWellFormed()
    },
  }
}
