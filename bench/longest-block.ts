import { readFileSync } from 'node:fs'
import { median } from './measure.ts'

/** The longest block of a call, in milliseconds. */
export interface Block {
  readonly ms: number
  /** The part in which the thread could have run, but other work had the processors. Null if the system does
   *  not say. */
  readonly queuedMs: number | null
  /** The time that the host of a virtual machine has taken from its processors during the block, all of them
   *  together and up to 20 ms before it. Null if the system does not say. */
  readonly stolenMs: number | null
  /** The longest block of the same call if no time counts in which other work had the processors. */
  readonly ownMs: number
}

/** The one with the median length of several tries. */
export async function middleBlock(tries: number, call: () => Promise<unknown>): Promise<Block> {
  const found: Block[] = []
  for (let i = 0; i < tries; i++) found.push(await longestBlock(call))
  return found.find(({ ms }) => ms === median(found.map(one => one.ms)))!
}

/** The longest time between two turns of the event loop during a call. */
export async function longestBlock(call: () => Promise<unknown>): Promise<Block> {
  await new Promise(resolve => setTimeout(resolve, 20))
  let longest: Omit<Block, 'ownMs'> = { ms: 0, queuedMs: null, stolenMs: null }
  let ownMs = 0
  let isRunning = true
  const takenByHost = hostMeter()
  let [last, queued] = [performance.now(), queuedMs()]
  const beat = () => {
    const ms = performance.now() - last
    const queuedNow = queuedMs()
    const waited = queued === null || queuedNow === null ? null : queuedNow - queued
    const stolen = takenByHost()
    if (ms > longest.ms) longest = { ms, queuedMs: waited, stolenMs: stolen }
    ownMs = Math.max(ownMs, ms - (waited ?? 0))
    queued = queuedNow
    last = performance.now()
    if (isRunning) setImmediate(beat)
  }
  setImmediate(beat)
  await call()
  // Work that the call has put off, such as a checkpoint.
  for (let i = 0; i < 3; i++) await new Promise(resolve => setImmediate(resolve))
  isRunning = false
  return { ...longest, ownMs }
}

/** How long this thread has waited for a processor. Only Linux counts it. */
function queuedMs(): number | null {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[1]) / 1e6
  } catch {
    return null
  }
}

/** Reads at most every 20 ms what the host has taken since the last reading, because that takes longer than
 *  most turns. Null in between: only of a longer block it can be told. */
function hostMeter(): () => number | null {
  let [at, before] = [performance.now(), stolenMs()]
  return () => {
    if (performance.now() - at <= 20) return null
    const now = stolenMs()
    const taken = before === null || now === null ? null : now - before
    ;[at, before] = [performance.now(), now]
    return taken
  }
}

/** How long the host has run other machines while the processors of this one had work. Linux counts it, in
 *  steps of 10 ms. */
function stolenMs(): number | null {
  try {
    return Number(readFileSync('/proc/stat', 'utf8').split(/\s+/, 9)[8]) * 10
  } catch {
    return null
  }
}
