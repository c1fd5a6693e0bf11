import { readdirSync, readlinkSync, rmSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/** Processes that are identified by the folder they run in: a server and all of its children. As a program,
 *  this file ends all processes of a folder and removes the folder when its standard input closes, however
 *  its starter ends. */

/** The pids of the processes whose working directory is `folder` or below it. */
export function pidsIn(folder: string): readonly number[] {
  const numbers = readdirSync('/proc').filter(name => /^\d+$/.test(name))
  return numbers.map(Number).filter(pid => {
    const place = placeOf(pid)
    return place === folder || place?.startsWith(`${folder}/`)
  })
}

function placeOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return null // it has ended, or belongs to another user
  }
}

/** Sends a signal to each process of a folder. */
export function signalIn(folder: string, signal: NodeJS.Signals): void {
  for (const pid of pidsIn(folder)) signalTo(pid, signal)
}

/** Sends a signal to a process that may have ended. */
export function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Kills the processes of a folder, also those that start meanwhile. */
export async function killIn(folder: string): Promise<void> {
  while (pidsIn(folder).length > 0) {
    signalIn(folder, 'SIGKILL')
    await pause(20)
  }
}

if (process.argv[1] === import.meta.filename) {
  const folder = process.argv[2]!
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  for await (const _ of process.stdin);
  await killIn(folder)
  rmSync(folder, { recursive: true, force: true })
}
