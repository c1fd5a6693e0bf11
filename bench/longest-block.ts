import { readFileSync } from 'node:fs'
import { median } from './measure.ts'

/** The longest block of a call, in milliseconds. */
export interface Block {
  readonly ms: number
  /** The part in which the thread could have run, but other work had the processors. Null if the system does
   *  not say. */
  readonly queuedMs: number | null
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
  let longest: Omit<Block, 'ownMs'> = { ms: 0, queuedMs: null }
  let ownMs = 0
  let isRunning = true
  let [last, queued] = [performance.now(), queuedMs()]
  const beat = () => {
    const ms = performance.now() - last
    const queuedNow = queuedMs()
    const waited = queued === null || queuedNow === null ? null : queuedNow - queued
    if (ms > longest.ms) longest = { ms, queuedMs: waited }
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
