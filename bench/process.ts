import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** What a fresh process is asked to do: one of the tasks of a suite. */
export interface Task {
  readonly suite: string
  readonly task: string
  readonly args: object
}

/** Runs a task in a fresh process, so that no contender is warmed by another, and returns what it measured. */
export async function inFreshProcess<T>(task: Task): Promise<T> {
  const { NODE_EXTRA_CA_CERTS: _, NODE_OPTIONS: __, ...env } = process.env
  const flags = process.env.SKEIN_BENCH_NODE_FLAGS?.split(' ') ?? []
  const child = spawn(
    process.execPath,
    [...flags, join(import.meta.dirname, 'worker.ts'), JSON.stringify(task)],
    { env, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${task.suite} ${task.task} ended with ${code}`)
  return JSON.parse(output) as T
}
