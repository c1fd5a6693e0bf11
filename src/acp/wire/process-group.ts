import { setTimeout as after } from 'node:timers/promises'

/** How often it is looked whether a group has gone. */
const stepMs = 10

/** What SIGKILL has ended may still wait to be collected, and nobody has to collect it: in a container the first process may
 *  not know that it should. So this is not waited for longer. */
const collectMs = 500

/** Sends a signal to a process and all it has started, by the id of the group. False if nobody is left there. */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal)
  } catch (error) {
    // EPERM: somebody is left, under another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Ends a group: it is asked to leave, and made to when it has had its time. Resolves when it has gone. */
export async function endGroup(group: number, graceMs: number): Promise<void> {
  if (signalGroup(group, 'SIGTERM') && !(await hasGone(group, graceMs))) {
    signalGroup(group, 'SIGKILL')
    await hasGone(group, collectMs)
  }
  endings.delete(group)
  if (endings.size === 0) process.off('exit', killAll)
}

async function hasGone(group: number, withinMs: number): Promise<boolean> {
  for (let waited = 0; waited < withinMs; waited += stepMs) {
    await after(stepMs)
    if (!signalGroup(group, 0)) return true
  }
  return false
}

/** Groups that have to end with us, also where nobody had the time to end anything. */
const endings = new Set<number>()

/** From now on the group ends with our own process, however that ends normally; until it was ended. */
export function endWithUs(group: number): void {
  if (endings.size === 0) process.on('exit', killAll)
  endings.add(group)
}

function killAll(): void {
  for (const group of endings) signalGroup(group, 'SIGKILL')
}
