import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** The job of a fresh process: one of the tasks of a suite. */
export interface Task {
  readonly suite: string
  readonly task: string
  readonly args: object
  /** Variables in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>
}

/** A process that measures one group per request and idles in between. */
export interface Steps<T> {
  /** Null when it has nothing more to measure. Throws StoppedError after `deadline` (as of
   *  `performance.now()`); the process has ended by then. */
  next(deadline?: number): Promise<T | null>
  /** Ends it immediately. */
  stop(): void
}

/** A measurement took longer than the limit of a row. */
export class StoppedError extends Error {}

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Runs a task in a fresh process, so that no contender benefits from another's warm-up, and returns its
 *  answer. */
export async function inFreshProcess<T>(task: Task): Promise<T> {
  const answer = await startSteps<T>(task).next()
  return answer as T
}

/** Starts a task that runs step by step. SKEIN_BENCH_NODE_FLAGS are passed to its Node, for example
 *  `--cpu-prof`. */
export function startSteps<T>(task: Task): Steps<T> {
  const { NODE_EXTRA_CA_CERTS: _, NODE_OPTIONS: __, ...env } = process.env
  const flags = process.env.SKEIN_BENCH_NODE_FLAGS?.split(' ').filter(Boolean) ?? []
  const worker = join(import.meta.dirname, 'worker.ts')
  const child = spawn(process.execPath, [...flags, worker, JSON.stringify(task)], {
    env: { ...env, ...task.env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  running.add(child)
  child.stdin.on('error', () => {}) // The process has ended; the next line of its output says so.
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ended = once(child, 'close').finally(() => running.delete(child))
  let stopped = false
  return {
    async next(deadline) {
      const stopper =
        deadline === undefined ? undefined : setTimeout(stop, Math.max(1, deadline - performance.now()))
      try {
        child.stdin.write('go\n')
        const line = await lines.next()
        if (!line.done && line.value !== 'null') return JSON.parse(line.value as string) as T
        const [code] = await ended
        if (stopped) throw new StoppedError(`${task.suite} ${task.task}`)
        if (code !== 0) throw new Error(`${task.suite} ${task.task} ended with ${code}`)
        return null
      } finally {
        clearTimeout(stopper)
      }
    },
    stop,
  }

  function stop(): void {
    stopped = true
    child.kill('SIGKILL')
  }
}
