import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { ProxyStore } from '../../acp/proxy/proxy-context.ts'
import { UnavailableError } from '../../core/errors.ts'
import { errorFromCopy } from './copy-error.ts'
import type { ThreadAnswer, ThreadStart } from './thread-calls.ts'

/** A store of the proxy that another thread works on. */
export type ThreadedStore = ProxyStore & { close(): Promise<void> }

/** Opens a store in a thread of its own, so that a slow disk does not delay the caller's thread. Arguments
 *  and results are copied. If the thread ends by itself, its calls fail with UnavailableError, and the next
 *  call opens the store again. */
export async function openThreadedStore(start: ThreadStart): Promise<ThreadedStore> {
  let current: Promise<StoreThread> | null = null
  let isClosed = false
  const thread = () => {
    if (isClosed) throw new UnavailableError('the store is closed')
    current ??= startThread(start, () => {
      current = null
    })
    return current
  }
  const { methods, leaseMs } = await thread()
  const called = methods.map(method => [
    method,
    async (...args: readonly unknown[]) => (await thread()).call(method, args),
  ])
  const close = async () => {
    isClosed = true
    await (await current)?.close()
  }
  return { ...Object.fromEntries(called), leaseMs, close }
}

interface StoreThread {
  /** The names of the store's methods. */
  readonly methods: readonly string[]
  readonly leaseMs: number
  call(method: string, args: readonly unknown[]): Promise<unknown>
  /** Closes the store, and ends the thread. */
  close(): Promise<void>
}

/** The source in the repository, a file of its own in the built command. */
const threadFile = join(
  import.meta.dirname,
  import.meta.filename.endsWith('.ts') ? 'store-thread.ts' : 'store-thread.cjs',
)

/** Starts the thread. Resolves when it has opened the store; throws what the store threw. `onEnd` is called
 *  before the calls of a thread fail that has ended. */
async function startThread(start: ThreadStart, onEnd: () => void): Promise<StoreThread> {
  // `stdout: true` keeps its output away from ours, which belongs to the protocol.
  const worker = new Worker(threadFile, { workerData: start, stdout: true, execArgv: [] })
  const opening = Promise.withResolvers<Pick<StoreThread, 'methods' | 'leaseMs'>>()
  const calls = new Map<number, PromiseWithResolvers<unknown>>()
  const ended = Promise.withResolvers<void>()
  let count = 0
  let failure: unknown

  worker.on('message', (answer: ThreadAnswer) => {
    if (answer.type === 'opened') return opening.resolve(answer)
    if (answer.type === 'refused') return opening.reject(errorFromCopy(answer.error))
    const call = calls.get(answer.id)
    calls.delete(answer.id)
    if (answer.type === 'returned') call?.resolve(answer.value)
    else call?.reject(errorFromCopy(answer.error))
  })
  // The exit follows.
  worker.on('error', error => {
    failure = error
  })
  worker.on('exit', () => {
    onEnd()
    const error = new UnavailableError('the thread of the store has ended', { cause: failure })
    opening.reject(error)
    for (const { reject } of calls.values()) reject(error)
    calls.clear()
    ended.resolve()
  })

  const call = (method: string, args: readonly unknown[]): Promise<unknown> => {
    const pending = Promise.withResolvers<unknown>()
    worker.postMessage({ id: ++count, method, args })
    calls.set(count, pending)
    return pending.promise
  }
  const { methods, leaseMs } = await opening.promise
  return {
    methods,
    leaseMs,
    call,
    async close() {
      await call('close', [])
      await ended.promise
    },
  }
}
