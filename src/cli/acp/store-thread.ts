import { parentPort, workerData } from 'node:worker_threads'
import type { Store } from '../../core/ports.ts'
import { openConfiguredStore } from '../store/open-configured-store.ts'
import { copyOfError } from './copy-error.ts'
import type { ThreadAnswer, ThreadCall, ThreadStart } from './thread-calls.ts'

/** The thread of `threaded-store.ts`: opens the store, and calls its methods in the order in which the calls
 *  arrive. */

const port = parentPort!
const { target, cwd } = workerData as ThreadStart

const answer = (given: ThreadAnswer) => port.postMessage(given)

void serve()

async function serve(): Promise<void> {
  try {
    const store = await openConfiguredStore(target, cwd, process.env)
    const methods = Object.keys(store).filter(name => typeof store[name as keyof Store] === 'function')
    port.on('message', (call: ThreadCall) => void perform(store, call))
    answer({ type: 'opened', methods, leaseMs: store.leaseMs })
  } catch (error) {
    answer({ type: 'refused', error: copyOfError(error) })
  }
}

async function perform(store: Store, { id, method, args }: ThreadCall): Promise<void> {
  try {
    const called = store[method as keyof Store] as (...given: readonly unknown[]) => unknown
    answer({ type: 'returned', id, value: await called(...args) })
  } catch (error) {
    answer({ type: 'threw', id, error: copyOfError(error) })
  }
  if (method === 'close') port.close()
}
