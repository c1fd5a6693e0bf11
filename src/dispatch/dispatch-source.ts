import { type RecorderSource, systemRecorderSource } from '../system/source.ts'

/** What a dispatcher takes from its process. A parameter, so that tests can inject another one. */
export interface DispatchSource extends RecorderSource {
  /** Milliseconds since any fixed moment. Unlike `now`, it does not jump when the clock is set. */
  elapsed(): number
}

/** The machine's clock, timers and processes. */
export const systemDispatchSource: DispatchSource = {
  ...systemRecorderSource,
  elapsed: () => performance.now(),
}

/** Waits. Returns early when the signal is aborted. */
export function wait(ms: number, source: DispatchSource, signal?: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal?.aborted) return resolve()
    const cancel = source.after(ms, end)
    signal?.addEventListener('abort', end, { once: true })
    function end() {
      cancel()
      signal?.removeEventListener('abort', end)
      resolve()
    }
  })
}
