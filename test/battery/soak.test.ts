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
import { type SoakResult, type SoakSubject, soak } from './soak.ts'
import type { SoakAnswer } from './soak-child.ts'
import { startServer } from './soak-server.ts'

/** A process works at a steady rate for an hour and must not grow. SKEIN_BATTERY_MINUTES sets another
 *  time. */
const minutes = Number(process.env.SKEIN_BATTERY_MINUTES ?? 60)
const ms = size({ gate: 500, full: minutes * 60_000 })
const perSecond = 20
const timeout = ms + 120_000

/** R28, for a run of an hour. In a shorter run a few pages more or less are a steep slope, so only the growth
 *  is limited. */
const mostSlope = 1e6
const mostGrowth = 4e6

/** SQLite begins a checkpoint at 16 MB, and readers may delay it. */
const mostLogBytes = 32e6

/** Node must not keep more than the program does. */
const nodeOptions = [
  ...['--expose-gc', '--max-semi-space-size=1'],
  ...['--import', join(import.meta.dirname, 'collect-often.ts')],
]

const logBytesOf = (file: string) => (existsSync(`${file}-wal`) ? statSync(`${file}-wal`).size : 0)

/** `skein serve` on a file. */
async function startService(): Promise<SoakSubject> {
  const folder = freshFolder()
  const server = await startServer(folder, nodeOptions)
  onTestFinished(() => signalTo(server.pid, 'SIGKILL'))
  return { ...server, logBytes: () => logBytesOf(join(folder, 'soak.db')) }
}

/** Starts a process that uses the store at `target`, which is a file or a URL. */
async function startLibraryUser(target: string, manner?: 'leaking'): Promise<SoakSubject> {
  const args = [target, ...(manner === undefined ? [] : [manner])]
  const child = fork(join(import.meta.dirname, 'soak-child.ts'), args, { execArgv: nodeOptions })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  await Promise.race([once(child, 'message'), ended])
  return {
    pid: child.pid!,
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

function noteResult(name: string, result: SoakResult): void {
  note(`${name}: operations`, result.operations)
  note(`${name}: memory (MB)`, result.memory / 1e6)
  note(`${name}: slope (MB/h)`, result.slope / 1e6)
  note(`${name}: growth (MB)`, result.growth / 1e6)
  note(`${name}: descriptors`, result.descriptors.join(' → '))
  note(`${name}: largest log (MB)`, result.mostLogBytes / 1e6)
}

it('does not grow while it writes, reads, searches and forks (R28)', { timeout }, async () => {
  const subjects = {
    SQLite: startLibraryUser(freshFile()),
    PostgreSQL: startLibraryUser(await freshDatabase()),
    'skein serve': startService(),
  }
  note('minutes', ms / 60_000)
  const runs = Object.entries(subjects).map(async ([name, starting]) => {
    const subject = await starting
    const result = await soak(subject, ms, perSecond)
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
    if (isFull) expect(result.growth, name).toBeLessThan(mostGrowth)
    if (isFull && minutes >= 60) expect(result.slope, name).toBeLessThan(mostSlope)
  }
})

it.skipIf(!isFull)('control: sees a process that keeps 50 kB of each operation', { timeout }, async () => {
  const subject = await startLibraryUser(freshFile(), 'leaking')
  const result = await soak(subject, Math.min(ms, 60_000), perSecond)
  await subject.stop()
  noteResult('leaking', result)
  expect(result.growth).toBeGreaterThan(mostGrowth)
  expect(result.slope).toBeGreaterThan(mostSlope)
})
