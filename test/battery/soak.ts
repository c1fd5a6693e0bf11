import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/** A process under test: a library user, or a server. */
export interface SoakSubject {
  readonly pid: number
  /** Makes the process perform its n-th operation. */
  perform(n: number): Promise<void>
  /** The size of the engine's log, or 0 if it is not ours to see. */
  logBytes(): number
  stop(): Promise<void>
}

/** What is seen of a process at one moment. */
export interface SoakSample {
  /** Milliseconds since the beginning. */
  readonly at: number
  /** The resident memory, in bytes. */
  readonly memory: number
  /** The number of open files and sockets. */
  readonly descriptors: number
  readonly logBytes: number
}

/** The result of a run, over the time after the warm-up. */
export interface SoakResult {
  readonly operations: number
  /** By least squares, in bytes per hour. */
  readonly slope: number
  /** From the first quarter to the last, as medians, in bytes. */
  readonly growth: number
  /** The median of the last quarter, in bytes. */
  readonly memory: number
  /** The most of the first quarter and of the last. */
  readonly descriptors: readonly [number, number]
  readonly mostLogBytes: number
}

/** Lets the process work at a steady rate. The warm-up is the first fifth of the time, ten minutes at most.
 *  In it the process works as fast as it can, so that the store becomes larger than the caches. */
export async function soak(subject: SoakSubject, ms: number, perSecond: number): Promise<SoakResult> {
  const samples: SoakSample[] = []
  const begun = performance.now()
  const everyMs = Math.min(5_000, ms / 50)
  const warmUpMs = Math.min(600_000, ms / 5)
  const sampling = setInterval(() => samples.push(sampleOf(subject, performance.now() - begun)), everyMs)
  let n = 0
  try {
    while (performance.now() - begun < warmUpMs) await subject.perform(n++)
    for (let next = performance.now(); next - begun < ms; next += 1_000 / perSecond) {
      await pause(Math.max(0, next - performance.now()))
      await subject.perform(n++)
    }
  } finally {
    clearInterval(sampling)
  }
  return judge(
    samples.filter(({ at }) => at > warmUpMs),
    n,
  )
}

function sampleOf({ pid, logBytes }: SoakSubject, at: number): SoakSample {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!
  const descriptors = readdirSync(`/proc/${pid}/fd`).length
  return { at, memory: Number(kilobytes) * 1_024, descriptors, logBytes: logBytes() }
}

function judge(samples: readonly SoakSample[], operations: number): SoakResult {
  const quarter = Math.ceil(samples.length / 4)
  const [first, last] = [samples.slice(0, quarter), samples.slice(-quarter)]
  const mostOf = (some: readonly SoakSample[]) => Math.max(...some.map(({ descriptors }) => descriptors))
  const memory = medianMemory(last)
  return {
    operations,
    slope: slopeOf(samples) * 3_600_000,
    growth: memory - medianMemory(first),
    memory,
    descriptors: [mostOf(first), mostOf(last)],
    mostLogBytes: Math.max(...samples.map(({ logBytes }) => logBytes)),
  }
}

function medianMemory(samples: readonly SoakSample[]): number {
  return samples.map(({ memory }) => memory).sort((a, b) => a - b)[Math.floor(samples.length / 2)]!
}

/** Bytes per millisecond, by least squares. */
function slopeOf(samples: readonly SoakSample[]): number {
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length
  const [meanAt, meanMemory] = [mean(samples.map(({ at }) => at)), mean(samples.map(({ memory }) => memory))]
  const together = samples.map(({ at, memory }) => (at - meanAt) * (memory - meanMemory))
  const alone = samples.map(({ at }) => (at - meanAt) ** 2)
  return mean(together) / mean(alone)
}
