import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { keysOf, type Manner } from './writer.ts'

/** Processes that write to one file, ready to begin. */
export interface Team {
  /** The keys of the conversations that they write. */
  readonly keys: readonly string[]
  /** Starts all at once, kills them with SIGKILL this long after the first turn that one of them reports, and
   *  returns the number of turns that were acknowledged in each conversation. */
  runAndKill(ms: number): Promise<ReadonlyMap<string, number>>
}

/** Starts the processes `name 0`, `name 1` … and waits until each has opened its store. */
export async function startTeam(target: string, name: string, size: number, manner: Manner): Promise<Team> {
  const writers = Array.from({ length: size }, (_, i) => `${name}-${i}`)
  const started = await Promise.all(writers.map(writer => startWriter(target, writer, manner)))
  return {
    keys: writers.flatMap(writer => keysOf(writer, manner)),
    async runAndKill(ms) {
      for (const { child } of started) child.stdin!.write('go\n')
      await Promise.race(started.flatMap(({ reported, told }) => [reported, told]))
      await new Promise(resolve => setTimeout(resolve, ms))
      for (const { child } of started) child.kill('SIGKILL')
      const counts = await Promise.all(started.map(({ told }) => told))
      return new Map(counts.flatMap(count => [...count]))
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
  const stored = new Map(keysOf(writer, manner).map(key => [key, 0]))
  const { promise: ready, resolve } = Promise.withResolvers<void>()
  const { promise: reported, resolve: report } = Promise.withResolvers<void>()
  createInterface({ input: child.stdout! }).on('line', line => {
    const [, turn, key] = /^stored (\d+) (.*)$/.exec(line) ?? []
    if (line === 'ready') resolve()
    // A line that was cut by the kill says nothing.
    else if (key !== undefined && stored.has(key)) {
      stored.set(key, Number(turn) + 1)
      report()
    }
  })
  const told = once(child, 'close').then(([code, signal]) => {
    if (signal !== 'SIGKILL') throw new Error(`writer ${writer} ended by itself: ${signal ?? code}`)
    return stored
  })
  await Promise.race([ready, told])
  return { child, told, reported }
}
