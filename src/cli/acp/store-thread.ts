import { parentPort, workerData } from 'node:worker_threads'
import { openConfiguredStore } from '../store/open-configured-store.ts'
import { copyOfError } from './copy-error.ts'
import type { ThreadAnswer, ThreadCall, ThreadStart } from './thread-calls.ts'

/** The thread of `threaded-store.ts`: opens the store, and calls its methods in the order in which the calls
 *  arrive. */

const port = parentPort!
const { target, cwd, memory } = workerData as ThreadStart

const answer = (given: ThreadAnswer) => port.postMessage(given)

void serve()

async function serve(): Promise<void> {
  try {
    const store = await openConfiguredStore(target, cwd, process.env, memory)
    const members: StoreMembers = { ...store }
    port.on('message', (call: ThreadCall) => void perform(members, call))
    answer({ type: 'opened', leaseMs: store.leaseMs })
  } catch (error) {
    answer({ type: 'refused', error: copyOfError(error) })
  }
}

type StoreMembers = Readonly<Record<string, unknown>>

async function perform(store: StoreMembers, { id, method, args }: ThreadCall): Promise<void> {
  try {
    const called = store[method] as (...given: readonly unknown[]) => unknown
    answer({ type: 'returned', id, value: await called(...args) })
  } catch (error) {
    answer({ type: 'threw', id, error: copyOfError(error) })
  }
  if (method === 'close') port.close()
}
