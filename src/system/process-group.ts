import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as after } from 'node:timers/promises'

/** How long a killed group may take to disappear. */
const killedMs = 500

/** Sends a signal to every process of a group. False if the group has no process left. */
function signal(group: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, name)
  } catch (error) {
    // EPERM: a process is left, under another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Ends a group that was registered with `endWithUs`: SIGTERM first, SIGKILL after `graceMs`. Resolves when
 *  the group is gone. A group that was ended before is left alone, because its id may have been reused. */
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

/** Whether a process of the group still runs. `kill(0)` also counts zombies, and in a container they may
 *  never be reaped. Without /proc, zombies count here as well. */
function hasMembers(group: number): boolean {
  if (process.platform !== 'linux') return true
  return readdirSync('/proc').some(entry => {
    if (!/^\d+$/.test(entry)) return false
    const [state, , memberOf] = statusOf(entry)
    return memberOf === String(group) && state !== 'Z' && state !== 'X'
  })
}

/** State, parent and group of a process. They follow the process name, which may contain any character. */
function statusOf(pid: string): readonly string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2).split(' ', 3)
  } catch {
    return [] // the process has ended meanwhile
  }
}

/** Groups to kill when this process exits without having ended them. */
const living = new Set<number>()

/** Registers a group: it is killed when this process exits, unless `endGroup` has ended it before. If this
 *  process is killed, the group only notices that its input has ended. */
export function endWithUs(group: number): void {
  if (living.size === 0) process.on('exit', killAll)
  living.add(group)
}

function killAll(): void {
  for (const group of living) signal(group, 'SIGKILL')
}
