import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { type FailoverLine, writers } from './failover-child.ts'

/** A process of writers, and the acknowledgements that it has reported. They are kept here, outside of the
 *  database. */
export interface FailoverWriters {
  /** The acknowledged turns of each writer. */
  acknowledged(): ReadonlyMap<string, number>
  /** The number of each kind of error so far. */
  readonly errors: ReadonlyMap<string, number>
  /** Whether a writer has found that acknowledged turns are gone. */
  readonly hasFoundLoss: boolean
  /** Waits until each writer has `turns` more turns acknowledged. */
  progress(turns: number): Promise<void>
  /** The end of the longest time without an acknowledgement since `from`, over all writers. */
  backAt(from: number): number
  end(): Promise<void>
  kill(): void
}

const mostWaitMs = 150_000

/** Starts a process that writes to the store at `url`. */
export function startWriters(url: string): FailoverWriters {
  const script = join(import.meta.dirname, 'failover-child.ts')
  const child: ChildProcess = spawn(process.execPath, [script, url], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin!.on('error', () => {}) // it may have ended
  const ended = once(child, 'close')
  /** When each turn of a writer was acknowledged. */
  const times = new Map<string, number[]>(writers.map(writer => [writer, []]))
  const errors = new Map<string, number>()
  let hasFoundLoss = false
  createInterface({ input: child.stdout! }).on('line', text => {
    const line = JSON.parse(text) as FailoverLine
    if ('acknowledged' in line) times.get(line.writer)!.push(Date.now())
    else if ('failed' in line) errors.set(line.failed, (errors.get(line.failed) ?? 0) + 1)
    else if ('lost' in line) hasFoundLoss = true
  })
  const acknowledged = () => new Map(Array.from(times, ([writer, all]) => [writer, all.length]))
  return {
    acknowledged,
    errors,
    get hasFoundLoss() {
      return hasFoundLoss
    },
    async progress(turns) {
      const begun = acknowledged()
      const end = Date.now() + mostWaitMs
      while (![...acknowledged()].every(([writer, count]) => count >= begun.get(writer)! + turns)) {
        if (Date.now() > end || child.exitCode !== null || hasFoundLoss)
          throw new Error(
            `the writers do not progress: ${JSON.stringify([...errors])}, lost: ${hasFoundLoss}`,
          )
        await pause(50)
      }
    },
    backAt(from) {
      const ends = Array.from(times.values(), all => {
        let [longest, end] = [0, from]
        for (const [i, time] of all.entries()) {
          const gap = time - Math.max(from, all[i - 1] ?? from)
          if (time >= from && gap > longest) [longest, end] = [gap, time]
        }
        return end
      })
      return Math.max(...ends)
    },
    async end() {
      child.stdin!.end()
      const [code] = await ended
      if (code !== 0) throw new Error(`the writers ended with ${code}`)
    },
    kill: () => void child.kill('SIGKILL'),
  }
}
