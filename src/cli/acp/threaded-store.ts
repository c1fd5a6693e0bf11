import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { ProxyStore } from '../../acp/proxy/proxy-context.ts'
import { OutcomeUnknownError, UnavailableError } from '../../core/errors.ts'
import { errorFromCopy } from './copy-error.ts'
import type { ThreadAnswer, ThreadStart } from './thread-calls.ts'

/** A store of the proxy that another thread works on. */
export type ThreadedStore = ProxyStore & { close(): Promise<void> }

/** Opens a store in a thread of its own, so that a slow disk does not delay the caller's thread. Arguments
 *  and results are copied. If the thread ends by itself, its reads fail with UnavailableError and its writes
 *  with OutcomeUnknownError, and the next call opens the store again. */
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
  const { leaseMs } = await thread()
  const called = Object.keys(effects).map(method => [
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
  const opening = Promise.withResolvers<Pick<StoreThread, 'leaseMs'>>()
  const calls = new Map<number, PendingCall>()
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
    const unavailable = new UnavailableError(hasEnded, { cause: failure })
    opening.reject(unavailable)
    for (const { method, reject } of calls.values())
      reject(isWrite(method) ? outcomeUnknown(failure) : unavailable)
    calls.clear()
    ended.resolve()
  })

  const call = (method: string, args: readonly unknown[]): Promise<unknown> => {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    worker.postMessage({ id: ++count, method, args })
    calls.set(count, { method, resolve, reject })
    return promise
  }
  const { leaseMs } = await opening.promise
  return {
    leaseMs,
    call,
    async close() {
      await call('close', [])
      await ended.promise
    },
  }
}

interface PendingCall {
  readonly method: string
  resolve(value: unknown): void
  reject(error: unknown): void
}

const hasEnded = 'the thread of the store has ended'

/** The thread had the write, and may have committed it. */
function outcomeUnknown(cause: unknown): OutcomeUnknownError {
  return new OutcomeUnknownError(`${hasEnded} before it answered a write`, { cause })
}

function isWrite(method: string): boolean {
  return (effects as Readonly<Record<string, CallEffect>>)[method] === 'write'
}

type CallEffect = 'read' | 'write'

/** The methods of the store, and what each one does to it. */
const effects = {
  getConversation: 'read',
  versionOf: 'read',
  getBranch: 'read',
  listBranches: 'read',
  findByKey: 'read',
  findWithTail: 'read',
  findByTask: 'read',
  findByAgentLink: 'read',
  listAgentLinks: 'read',
  resolve: 'read',
  getMessages: 'read',
  listPath: 'read',
  tail: 'read',
  listStretches: 'read',
  readBlob: 'read',
  findTurn: 'read',
  listTurns: 'read',
  readDraft: 'read',
  listSummaries: 'read',
  listEvents: 'read',
  listConversations: 'read',
  create: 'write',
  findOrCreate: 'write',
  findOrCreateByTask: 'write',
  updateConversation: 'write',
  append: 'write',
  save: 'write',
  setLabel: 'write',
  createBranch: 'write',
  renameBranch: 'write',
  deleteBranch: 'write',
  moveBranch: 'write',
  activateBranch: 'write',
  setKey: 'write',
  moveKey: 'write',
  setAgentLink: 'write',
  removeAgentLink: 'write',
  reset: 'write',
  putDraft: 'write',
  renewTurn: 'write',
  endTurn: 'write',
  reopenTurn: 'write',
  addEvents: 'write',
  claimSummary: 'write',
  putSummary: 'write',
  trash: 'write',
} as const satisfies Record<Exclude<keyof ProxyStore, 'leaseMs'>, CallEffect>
