import { setTimeout as pause } from 'node:timers/promises'
import { retryChannel } from '../../system/debug.ts'
import { isBusy, noteWait } from './errors.ts'

/** How long to wait for other processes. */
export const patienceMs = 5_000

/** Attempts with pauses of about the time of an append, if no writer syncs inside the lock. Two writers write
 *  10 to 16 % more with them; where the lock is held for most of the time, they only take processor time. */
const briefTries = 4

/** Runs `work` and retries while another process holds a lock. Throws the last error when the time is up.
 *  `isBrief` tells that writers do not sync while they hold the lock, so that it is soon free again. */
export async function retryWhileBusy<T>(
  work: () => T,
  mayRetry: () => boolean = () => true,
  isBrief = false,
): Promise<T> {
  // Set at the first conflict: usually there is none, and `performance` would be loaded for nothing.
  let deadline: number | undefined
  for (let tries = 0; ; tries++) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || !mayRetry()) throw error
      deadline ??= performance.now() + patienceMs
      if (performance.now() >= deadline) {
        noteWait(error, performance.now() - deadline + patienceMs)
        throw error
      }
      if (retryChannel.hasSubscribers) publishRetry(tries + 1, error)
    }
    await giveWay(tries, isBrief && tries < briefTries)
  }
}

/** Publishes attempts 1, 8, 64, 512 …: a wait of seconds has thousands of attempts. */
function publishRetry(attempt: number, error: unknown): void {
  if (Number.isInteger(Math.log2(attempt) / 3))
    retryChannel.publish({ what: 'lock', attempt, pauseMs: 1, error })
}

/** SQLite's own busy handler starves writers (the slowest of four got next to nothing). Random pauses share
 *  fairly. Short pauses block the thread, because a timer takes at least a millisecond. */
async function giveWay(tries: number, isBrief: boolean): Promise<void> {
  const ms = isBrief ? 0.05 + Math.random() * 0.3 : 0.1 + Math.random() * 1.5
  if (tries % 8 < 7) Atomics.wait(sleeper, 0, 0, ms)
  else await pause(1)
}

const sleeper = new Int32Array(new SharedArrayBuffer(4))
