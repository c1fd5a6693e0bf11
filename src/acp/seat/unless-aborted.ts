/** Waits for something until the signal is aborted, and throws its reason then. The work itself goes on: an agent that is
 *  starting cannot be called off, and whoever comes next finds it started. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  const aborted = Promise.withResolvers<never>()
  const stop = () => aborted.reject(signal.reason)
  // Whichever comes second is nobody's business any more.
  work.catch(() => undefined)
  aborted.promise.catch(() => undefined)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
