import { appendFileSync, readdirSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import threads from 'node:worker_threads'
import type { MemoryReport } from './soak.ts'

/** Preloaded into a program that is started with `--expose-gc`, it collects all garbage and appends a
 *  `MemoryReport` to the file `SOAK_REPORT`, every `SOAK_EVERY_MS` milliseconds. The collection is the one of
 *  a last resort: any other leaves the pages that it empties in a pool of V8, which is part of the resident
 *  memory and grows with the garbage of the past: to 200 MB beside a heap of 40 if it runs every second. */

type CollectAll = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

const { gc } = globalThis as { gc?: CollectAll }
const { SOAK_REPORT: path, SOAK_EVERY_MS: everyMs } = process.env
if (gc === undefined || path === undefined)
  throw new Error('start the program with --expose-gc and SOAK_REPORT')

/** The threads of the program. */
const running = new Set<threads.Worker>()
threads.Worker = class extends threads.Worker {
  constructor(...args: ConstructorParameters<typeof threads.Worker>) {
    super(...args)
    running.add(this)
    this.once('exit', () => running.delete(this))
  }
}
syncBuiltinESMExports()

/** The pages of the heaps of the threads, which no collection of this one reaches. */
async function threadBytes(): Promise<number> {
  // A thread may end meanwhile.
  const heaps = await Promise.allSettled([...running].map(thread => thread.getHeapStatistics()))
  return heaps.reduce((sum, heap) => {
    return heap.status === 'fulfilled' ? sum + heap.value.total_physical_size : sum
  }, 0)
}

setInterval(async () => {
  gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage()
  const report: MemoryReport = {
    at: Number(process.hrtime.bigint()) / 1e6,
    memory: rss,
    heap: heapUsed + external,
    outside: rss - heapTotal,
    inThreads: await threadBytes(),
    threads: readdirSync('/proc/self/task').length,
  }
  appendFileSync(path, `${JSON.stringify(report)}\n`)
}, Number(everyMs)).unref()
