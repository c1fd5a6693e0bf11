import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import type { Manner } from './writer.ts'

/** Processes that write to one file, ready to begin. */
export interface Team {
  readonly writers: readonly string[]
  /** Starts all at once, kills them with SIGKILL after this time, and returns the number of turns that were
   *  acknowledged to each. */
  runAndKill(ms: number): Promise<ReadonlyMap<string, number>>
}

/** Starts the processes `name 0`, `name 1` … and waits until each has opened its store. */
export async function startTeam(target: string, name: string, size: number, manner: Manner): Promise<Team> {
  const writers = Array.from({ length: size }, (_, i) => `${name}-${i}`)
  const started = await Promise.all(writers.map(writer => startWriter(target, writer, manner)))
  return {
    writers,
    async runAndKill(ms) {
      for (const { child } of started) child.stdin!.write('go\n')
      await new Promise(resolve => setTimeout(resolve, ms))
      for (const { child } of started) child.kill('SIGKILL')
      const counts = await Promise.all(started.map(({ told }) => told))
      return new Map(writers.map((writer, i) => [writer, counts[i]!]))
    },
  }
}

async function startWriter(target: string, writer: string, manner: Manner) {
  const script = join(import.meta.dirname, 'writer.ts')
  const child: ChildProcess = spawn(process.execPath, [script, target, writer, manner, 'Infinity'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  // A writer may have ended before it is told to begin.
  child.stdin!.on('error', () => {})
  onTestFinished(() => void child.kill('SIGKILL'))
  let stored = 0
  const { promise: ready, resolve } = Promise.withResolvers<void>()
  createInterface({ input: child.stdout! }).on('line', line => {
    if (line === 'ready') resolve()
    else stored = Math.max(stored, Number(line.slice('stored '.length)) + 1)
  })
  const told = once(child, 'close').then(([code, signal]) => {
    if (signal !== 'SIGKILL') throw new Error(`writer ${writer} ended by itself: ${signal ?? code}`)
    return stored
  })
  await Promise.race([ready, told])
  return { child, told }
}
