import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as after } from 'node:timers/promises'

/** How long what was killed may take to be gone. */
const killedMs = 500

/** Sends a signal to a process and all it has started, by the id of the group. False if nobody is left there. */
function signal(group: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, name)
  } catch (error) {
    // EPERM: somebody is left, under another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Ends a group that ends with us: it is asked to leave, and made to when it has had its time. Resolves when it has gone. One
 *  that was ended before is left alone, because its number may be another's by now. */
export async function endGroup(group: number, graceMs: number): Promise<void> {
  if (!living.has(group)) return
  if (signal(group, 'SIGTERM') && !(await hasGone(group, graceMs))) {
    signal(group, 'SIGKILL')
    await hasGone(group, killedMs)
  }
  living.delete(group)
  if (living.size === 0) process.off('exit', killAll)
}

async function hasGone(group: number, withinMs: number): Promise<boolean> {
  let step = 5
  for (let waited = 0; waited < withinMs; waited += step) {
    step = Math.min(2 * step, 100, withinMs - waited)
    await after(step)
    if (!signal(group, 0) || !hasMembers(group)) return true
  }
  return false
}

/** Whether anybody in the group still runs. Those who have ended and wait to be collected count for the system, and in a
 *  container nobody may ever collect them. Where there is no /proc to look into, they count for us as well. */
function hasMembers(group: number): boolean {
  if (process.platform !== 'linux') return true
  return readdirSync('/proc').some(entry => {
    if (!/^\d+$/.test(entry)) return false
    const [state, , memberOf] = statusOf(entry)
    return memberOf === String(group) && state !== 'Z' && state !== 'X'
  })
}

/** State, parent and group: what stands behind the name, which may hold anything. */
function statusOf(pid: string): readonly string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2).split(' ', 3)
  } catch {
    return [] // it has gone meanwhile
  }
}

/** Groups that have to end with us, also where nobody had the time to end anything. */
const living = new Set<number>()

/** From now on the group ends with our own process, until it was ended. Not where ours is killed: then all that it notices is
 *  the end of its input. */
export function endWithUs(group: number): void {
  if (living.size === 0) process.on('exit', killAll)
  living.add(group)
}

function killAll(): void {
  for (const group of living) signal(group, 'SIGKILL')
}
