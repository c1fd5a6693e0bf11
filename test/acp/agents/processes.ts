import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'

/** The variable that marks all descendants of one start, also those that have left their group and their
 *  parents. */
export const runVariable = 'TEST_AGENT_RUN'

/** The living processes with this mark in their environment. Linux only; elsewhere empty. */
export function processesOf(run: string, variable: string = runVariable): readonly number[] {
  const mark = `${variable}=${run}\0`
  return processIds().filter(pid => {
    try {
      return `${readFileSync(`/proc/${pid}/environ`, 'latin1')}\0`.includes(mark)
    } catch {
      return false // it has exited, or belongs to another user
    }
  })
}

/** Kills all of them, as a power cut would, also those that are started meanwhile. */
export async function killAll(run: string, variable: string = runVariable): Promise<void> {
  for (let round = 0; round < 200; round++) {
    const living = processesOf(run, variable)
    if (living.length === 0) return
    for (const pid of living) kill(pid)
    await wait(5)
  }
  throw new Error(`processes of ${run} do not end: ${processesOf(run, variable).join(', ')}`)
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it has exited by itself
  }
}

function processIds(): readonly number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger)
  } catch {
    return []
  }
}
