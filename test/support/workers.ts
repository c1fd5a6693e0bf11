import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Store } from '../../src/core/ports.ts'
import type { Reply, Request } from './worker.ts'

/** A process that keeps a store open and follows instructions. */
export interface Worker {
  /** The store of that process. Errors arrive as plain errors with name, code and message. */
  readonly store: Store
  open(target: string, options?: { unlocked?: boolean }): Promise<void>
  /** Continues as another user: root may do everything, which would hide permission errors. */
  become(uid: number): Promise<void>
  kill(): Promise<void>
}

type Order = Request extends infer R ? (R extends Request ? Omit<R, 'n'> : never) : never

export async function startWorker(): Promise<Worker> {
  const child = fork(fileURLToPath(new URL('worker.ts', import.meta.url)), {
    execArgv: [],
    serialization: 'advanced',
  })
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  child.on('message', ({ n, value, error }: Reply) => {
    const asked = waiting.get(n)
    waiting.delete(n)
    if (error) asked?.reject(Object.assign(new Error(error.message), error))
    else asked?.resolve(value)
  })
  child.on('exit', (code, signal) => {
    for (const { reject } of waiting.values()) reject(new Error(`the worker ended: ${signal ?? code}`))
    waiting.clear()
  })
  let asked = 0
  await new Promise((resolve, reject) => waiting.set(-1, { resolve, reject }))

  return {
    store: remoteStore((method, args) => ask({ do: 'call', method, args })),
    open: async (target, { unlocked = false } = {}) => {
      await ask({ do: 'open', target, unlocked })
    },
    become: async uid => {
      await ask({ do: 'become', uid })
    },
    kill: () => kill(child),
  }

  function ask(order: Order): Promise<unknown> {
    const n = asked++
    return new Promise((resolve, reject) => {
      waiting.set(n, { resolve, reject })
      child.send({ ...order, n }, error => {
        if (error) reject(error)
      })
    })
  }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

function remoteStore(call: (method: keyof Store, args: unknown[]) => Promise<unknown>): Store {
  return new Proxy({} as Store, {
    // A promise looks for `then` on the value that resolves it.
    get: (_, method) =>
      method === 'then' ? undefined : (...args: unknown[]) => call(method as keyof Store, args),
  })
}
