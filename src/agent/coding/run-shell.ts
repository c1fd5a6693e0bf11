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

/** Runs a command line in a shell, in a process group of its own: everything that it has started ends with
 *  the time limit or with the signal. It has no input. Throws the signal's reason. */
export async function runShell(
  { command, directory, timeoutMs }: ShellCommand,
  signal: AbortSignal,
): Promise<ShellResult> {
  signal.throwIfAborted()
  const child = spawn(shell, ['-c', command], {
    cwd: directory,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = boundedText(mostOutput)
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => output.add(text))
    stream.on('error', () => undefined)
  }
  const { pid } = child
  if (pid !== undefined) endWithUs(pid)
  const end = () => (pid === undefined ? Promise.resolve() : endGroup(pid, graceMs))
  const { promise, resolve, reject } = Promise.withResolvers<Omit<ShellResult, 'output' | 'timedOut'>>()
  let timedOut = false
  let late: NodeJS.Timeout | undefined
  const timer = setTimeout(() => {
    timedOut = true
    void end()
  }, timeoutMs)
  const abort = () => void end()
  signal.addEventListener('abort', abort, { once: true })
  child.on('error', reject)
  child.on('exit', (exitCode, name) => {
    // Background processes end with the command. One that has left the group may hold the output open.
    void end().then(() => {
      late = setTimeout(() => resolve({ exitCode, signal: name }), drainMs)
    })
  })
  child.on('close', (exitCode, name) => void end().then(() => resolve({ exitCode, signal: name })))
  try {
    const ended = await promise
    signal.throwIfAborted()
    return { ...ended, output: output.text(), timedOut }
  } finally {
    clearTimeout(timer)
    clearTimeout(late)
    signal.removeEventListener('abort', abort)
    child.stdout.destroy()
    child.stderr.destroy()
    void end()
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
