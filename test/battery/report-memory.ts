import { appendFileSync, readdirSync } from 'node:fs'
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

setInterval(() => {
  gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage()
  const report: MemoryReport = {
    at: Number(process.hrtime.bigint()) / 1e6,
    memory: rss,
    heap: heapUsed + external,
    outside: rss - heapTotal,
    threads: readdirSync('/proc/self/task').length,
  }
  appendFileSync(path, `${JSON.stringify(report)}\n`)
}, Number(everyMs)).unref()
