import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** A process under test: a library user, or a server. It was started with the options of `reporting`. */
export interface SoakSubject {
  readonly pid: number
  /** The file of its memory reports. */
  readonly report: string
  /** Makes the process perform its n-th operation. */
  perform(n: number): Promise<void>
  /** The size of the engine's log, or 0 if it is not ours to see. */
  logBytes(): number
  stop(): Promise<void>
}

/** The memory of a process, after it has collected its garbage. */
export interface MemoryReport {
  /** Milliseconds of the machine's monotonic clock. */
  readonly at: number
  /** The resident memory, in bytes: everything, native memory included. */
  readonly memory: number
  /** What JavaScript holds, in bytes: the heap, and buffers outside of it. */
  readonly heap: number
  /** The resident memory without the pages that V8 has reserved for its heap. */
  readonly outside: number
  /** The pages of the heaps of its threads, a part of `outside`. */
  readonly inThreads: number
  /** A thread of the store that copies its log has a heap of its own, of 4 to 8 MB. */
  readonly threads: number
}

/** How a quantity changed after the warm-up, in bytes. */
export interface Trend {
  /** By least squares, in bytes per hour. */
  readonly slope: number
  /** From the median of the first quarter to that of the last. */
  readonly growth: number
  /** The median of the last quarter. */
  readonly last: number
}

/** The result of a run, over the time after the warm-up. */
export interface SoakResult {
  readonly operations: number
  readonly memory: Trend
  /** The resident memory without the heaps of threads, to see what a slope consists of. It has no limit of
   *  its own: R28 is about all resident memory. */
  readonly besideThreads: Trend
  readonly heap: Trend
  readonly outside: Trend
  readonly inThreads: Trend
  /** The most that the heaps of threads had. */
  readonly mostInThreads: number
  /** The most open files and sockets in the first quarter and in the last. */
  readonly descriptors: readonly [number, number]
  /** The fewest threads and the most. */
  readonly threads: readonly [number, number]
  readonly mostLogBytes: number
}

/** How long, and how much. */
export interface SoakPlan {
  /** The time after the warm-up. */
  readonly ms: number
  /** Operations per second after the warm-up. */
  readonly perSecond: number
  /** The warm-up has as many operations as fast as they can be done, so that the store becomes larger than
   *  the caches: SQLite has 16 MB for pages, the service keeps 100 responses. */
  readonly warmUp: number
  /** The time at the steady rate that follows and is not measured. The heap of a thread fills with garbage up
   *  to its limit: no collection of this process reaches it. Default: 0. */
  readonly settleMs?: number
  /** The fewest operations after the warm-up, however long they take. Default: 0. */
  readonly fewest?: number
  /** The fewest reports after the warm-up. Default: 8. */
  readonly fewestReports?: number
  /** Milliseconds between two samples. */
  readonly everyMs: number
}

/** The options of Node and the environment of a program that reports its memory to a file. */
export function reporting(report: string, { everyMs }: Pick<SoakPlan, 'everyMs'>) {
  return {
    options: ['--expose-gc', '--import', join(import.meta.dirname, 'report-memory.ts')],
    env: { SOAK_REPORT: report, SOAK_EVERY_MS: String(everyMs) },
  }
}

const now = () => Number(process.hrtime.bigint()) / 1e6

/** Lets the process warm up, then work at a steady rate. */
export async function soak(subject: SoakSubject, plan: SoakPlan): Promise<SoakResult> {
  const { fewest = 0, fewestReports = 8, settleMs = 0 } = plan
  let n = 0
  while (n < plan.warmUp) await subject.perform(n++)
  const settled = now() + settleMs
  await performUntil(() => now() >= settled)
  const [begun, first] = [now(), n]
  const descriptors: number[] = []
  let mostLogBytes = 0
  const sampling = setInterval(() => {
    descriptors.push(readdirSync(`/proc/${subject.pid}/fd`).length)
    mostLogBytes = Math.max(mostLogBytes, subject.logBytes())
  }, plan.everyMs)
  try {
    await performUntil(
      () =>
        now() - begun >= plan.ms && n >= first + fewest && reportsOf(subject, begun).length >= fewestReports,
    )
  } finally {
    clearInterval(sampling)
  }
  const reports = reportsOf(subject, begun)
  const threads = reports.map(report => report.threads)
  return {
    operations: n,
    memory: trendOf(reports.map(({ at, memory }) => [at, memory])),
    besideThreads: trendOf(reports.map(({ at, memory, inThreads }) => [at, memory - inThreads])),
    heap: trendOf(reports.map(({ at, heap }) => [at, heap])),
    outside: trendOf(reports.map(({ at, outside }) => [at, outside])),
    inThreads: trendOf(reports.map(({ at, inThreads }) => [at, inThreads])),
    mostInThreads: Math.max(...reports.map(({ inThreads }) => inThreads)),
    descriptors: [Math.max(0, ...firstOf(descriptors)), Math.max(0, ...lastOf(descriptors))],
    threads: [Math.min(...threads), Math.max(...threads)],
    mostLogBytes,
  }

  async function performUntil(isEnough: () => boolean): Promise<void> {
    let next = now()
    while (!isEnough()) {
      await subject.perform(n++)
      // On a slow machine the rate is lower, and nothing is caught up.
      next = Math.max(next + 1_000 / plan.perSecond, now())
      await pause(Math.max(0, next - now()))
    }
  }
}

/** The reports since a time. */
function reportsOf({ report }: SoakSubject, begun: number): readonly MemoryReport[] {
  if (!existsSync(report)) return []
  const lines = readFileSync(report, 'utf8').split('\n').slice(0, -1)
  return lines.map(line => JSON.parse(line) as MemoryReport).filter(({ at }) => at >= begun)
}

function trendOf(samples: readonly (readonly [at: number, bytes: number])[]): Trend {
  const bytes = samples.map(([, value]) => value)
  const last = median(lastOf(bytes))
  return { slope: slopeOf(samples) * 3_600_000, growth: last - median(firstOf(bytes)), last }
}

const quarterOf = (values: readonly number[]) => Math.ceil(values.length / 4)
const firstOf = (values: readonly number[]) => values.slice(0, quarterOf(values))
const lastOf = (values: readonly number[]) => values.slice(-quarterOf(values))

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!
}

/** Bytes per millisecond, by least squares. */
function slopeOf(samples: readonly (readonly [at: number, bytes: number])[]): number {
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length
  const [meanAt, meanBytes] = [mean(samples.map(([at]) => at)), mean(samples.map(([, bytes]) => bytes))]
  const together = samples.map(([at, bytes]) => (at - meanAt) * (bytes - meanBytes))
  const alone = samples.map(([at]) => (at - meanAt) ** 2)
  return mean(together) / mean(alone)
}
