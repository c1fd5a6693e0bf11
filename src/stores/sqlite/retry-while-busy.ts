import { setTimeout as pause } from 'node:timers/promises'
import { isBusy } from './errors.ts'

/** How long one process waits for another before it gives up. */
const patienceMs = 5_000

/** Does something as soon as no other process is in the way, or throws that one was for too long. */
export async function retryWhileBusy<T>(work: () => T, mayRetry: () => boolean = () => true): Promise<T> {
  // Begins with the first refusal: mostly there is none, and Node's clock is a module of its own to load.
  let deadline: number | undefined
  for (let tries = 0; ; tries++) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || !mayRetry()) throw error
      deadline ??= performance.now() + patienceMs
      if (performance.now() >= deadline) throw error
    }
    await giveWay(tries)
  }
}

/** SQLite's own way of waiting starves writers (the slowest of four got next to nothing); pauses of random
 *  length share fairly. Short ones block, as a timer cannot be shorter than a millisecond. */
async function giveWay(tries: number): Promise<void> {
  const ms = 0.1 + Math.random() * 1.5
  if (tries % 8 < 7) Atomics.wait(sleeper, 0, 0, ms)
  else await pause(1)
}

const sleeper = new Int32Array(new SharedArrayBuffer(4))
