/** Resolves with the value of `work`, or throws the signal's reason if the signal is aborted first. The
 *  work itself continues: its later result or error is ignored. */
export async function unlessAborted<T>(work: PromiseLike<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason)
  // Both are observed here, so that the one that settles second is not an unhandled rejection.
  Promise.resolve(work).catch(() => undefined)
  aborted.promise.catch(() => undefined)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([aborted.promise, work])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Aborts a controller when a signal is aborted. Returns a function that ends this. Unlike `AbortSignal.any`,
 *  it leaves nothing behind on a signal that lives as long as the process. */
export function forwardAbort(from: AbortSignal | undefined, to: AbortController): () => void {
  if (from === undefined) return () => undefined
  const abort = () => to.abort(from.reason)
  if (from.aborted) abort()
  else from.addEventListener('abort', abort, { once: true })
  return () => from.removeEventListener('abort', abort)
}

/** Runs tasks one after the other, in the order of the calls. A task that fails rejects only its own
 *  promise. */
export type SerialQueue = <T>(task: () => Promise<T>) => Promise<T>

export function createSerialQueue(): SerialQueue {
  let last: Promise<unknown> = Promise.resolve()
  return task => {
    const result = last.then(task)
    last = result.catch(() => undefined)
    return result
  }
}

/** Runs work of the same name one after the other, in the order of the calls; work of other names in
 *  parallel. */
export function createKeyedQueue() {
  const queues = new Map<string, { readonly queue: SerialQueue; waiting: number }>()
  return async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const own = queues.get(name) ?? { queue: createSerialQueue(), waiting: 0 }
    queues.set(name, own)
    own.waiting++
    try {
      return await own.queue(work)
    } finally {
      if (--own.waiting === 0) queues.delete(name)
    }
  }
}
