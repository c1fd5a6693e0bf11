import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { freshDatabase } from '../stores/postgres/database.ts'
import { note } from './note.ts'
import { signalTo } from './process-folder.ts'
import { isFull, size } from './size.ts'
import { reporting, type SoakPlan, type SoakResult, type SoakSubject, soak } from './soak.ts'
import type { Leak, SoakAnswer } from './soak-child.ts'
import { startServer } from './soak-server.ts'

/** A process works at a steady rate for an hour and must not grow. SKEIN_BATTERY_MINUTES sets another
 *  time. */
const minutes = Number(process.env.SKEIN_BATTERY_MINUTES ?? 60)
const plan: SoakPlan = {
  ms: size({ gate: 500, full: minutes * 60_000 }),
  perSecond: 20,
  // After 6,000 operations at the latest, the memory of each of them was flat.
  warmUp: size({ gate: 10, full: 10_000 }),
  // At this rate, the thread that indexes and copies the log fills its heap of 8 MB in 20 minutes.
  settleMs: size({ gate: 0, full: Math.min(25, minutes) * 60_000 }),
  everyMs: size({ gate: 100, full: 5_000 }),
}
const timeout = plan.ms + 3_600_000

/** R28, for a run of an hour. In a shorter run a few pages more or less are a steep slope, so only the growth
 *  is limited. */
const mostSlope = 1e6
const mostGrowth = 4e6

/** A thread has a heap of at most 8 MB for what lives long, and 2 for the rest. */
const mostInThreads = 10e6

/** SQLite begins a checkpoint at 16 MB, and readers may delay it. */
const mostLogBytes = 32e6

const logBytesOf = (file: string) => (existsSync(`${file}-wal`) ? statSync(`${file}-wal`).size : 0)

/** `skein serve` on a file. */
async function startService(): Promise<SoakSubject> {
  const folder = freshFolder()
  const report = join(folder, 'report')
  const { options, env } = reporting(report, plan)
  const server = await startServer(folder, options, env)
  onTestFinished(() => signalTo(server.pid, 'SIGKILL'))
  return { ...server, report, logBytes: () => logBytesOf(join(folder, 'soak.db')) }
}

/** Starts a process that uses the store at `target`, which is a file or a URL. */
async function startLibraryUser(target: string, leak?: Leak): Promise<SoakSubject> {
  const report = join(freshFolder(), 'report')
  const { options, env } = reporting(report, plan)
  const args = [target, ...(leak === undefined ? [] : [leak])]
  const script = join(import.meta.dirname, 'soak-child.ts')
  const child = fork(script, args, { execArgv: options, env: { ...process.env, ...env } })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  await Promise.race([once(child, 'message'), ended])
  return {
    pid: child.pid!,
    report,
    async perform(n) {
      child.send(n)
      const [answer] = (await Promise.race([once(child, 'message'), ended])) as [SoakAnswer]
      if (answer?.failed !== undefined || answer?.n !== n) throw new Error(answer?.failed ?? 'it has ended')
    },
    logBytes: () => logBytesOf(target),
    async stop() {
      child.disconnect()
      expect((await ended)[0]).toBe(0)
    },
  }
}

function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'soak-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const freshFile = () => join(freshFolder(), 'soak.db')

function noteResult(
  name: string,
  {
    operations,
    memory,
    besideThreads,
    heap,
    outside,
    inThreads,
    descriptors,
    threads,
    ...result
  }: SoakResult,
): void {
  note(`${name}: operations`, operations)
  note(`${name}: memory (MB)`, memory.last / 1e6)
  note(`${name}: slope (MB/h)`, memory.slope / 1e6)
  note(`${name}: growth (MB)`, memory.growth / 1e6)
  note(`${name}: slope outside the pages of V8 (MB/h)`, outside.slope / 1e6)
  note(`${name}: slope without the heaps of threads (MB/h)`, besideThreads.slope / 1e6)
  note(`${name}: slope of the heaps of threads (MB/h)`, inThreads.slope / 1e6)
  note(`${name}: heaps of threads, at most (MB)`, result.mostInThreads / 1e6)
  note(`${name}: heap (MB)`, heap.last / 1e6)
  note(`${name}: heap slope (MB/h)`, heap.slope / 1e6)
  note(`${name}: descriptors`, descriptors.join(' → '))
  note(`${name}: threads`, threads.join(' to '))
  note(`${name}: largest log (MB)`, result.mostLogBytes / 1e6)
}

it('does not grow while it writes, reads, searches and forks (R28)', { timeout }, async () => {
  const subjects = {
    SQLite: startLibraryUser(freshFile()),
    PostgreSQL: startLibraryUser(await freshDatabase()),
    'skein serve': startService(),
  }
  note('minutes after the warm-up', plan.ms / 60_000)
  const runs = Object.entries(subjects).map(async ([name, starting]) => {
    const subject = await starting
    const result = await soak(subject, plan)
    await subject.stop()
    return [name, result] as const
  })
  const results = await Promise.all(runs)
  for (const [name, result] of results) noteResult(name, result)
  for (const [name, result] of results) {
    const [before, after] = result.descriptors
    // A pool may open a connection more.
    expect(after, name).toBeLessThanOrEqual(before + 2)
    expect(result.mostLogBytes, name).toBeLessThan(mostLogBytes)
    if (!isFull) continue
    expect(result.mostInThreads, name).toBeLessThan(mostInThreads)
    for (const { growth, slope } of [result.memory, result.heap]) {
      expect(growth, name).toBeLessThan(mostGrowth)
      if (minutes >= 60) expect(slope, name).toBeLessThan(mostSlope)
    }
  }
})

it.each(['buffers', 'objects'] as const)(
  'control: sees a process that keeps 50 kB of %s of each operation',
  { timeout },
  async leak => {
    const subject = await startLibraryUser(freshFile(), leak)
    const ms = size({ gate: 1_500, full: Math.min(plan.ms, 60_000) })
    const warmUp = size({ gate: 50, full: plan.warmUp })
    const result = await soak(subject, { ...plan, ms, warmUp, settleMs: 0, perSecond: 200 })
    await subject.stop()
    noteResult(`leaking ${leak}`, result)
    for (const { growth, slope } of [result.memory, result.besideThreads, result.heap]) {
      // Both quarters have a median, so three quarters of the operations lie between them.
      expect(growth).toBeGreaterThan((result.operations - warmUp) * 50_000 * 0.4)
      expect(slope).toBeGreaterThan(mostSlope)
    }
  },
)
