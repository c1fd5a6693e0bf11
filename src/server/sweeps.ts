import type { Maintainer } from '../core/ports.ts'
import type { SweepReceipt } from '../core/removal.ts'

/** What is swept, and who is told. */
export interface SweepSettings {
  /** The stores to sweep. */
  stores(): Promise<readonly Pick<Maintainer, 'sweep'>[]>
  /** Called after each sweep. */
  onSwept(receipt: SweepReceipt): void
  /** Called if a sweep fails. The next one is tried as usual. */
  onFailed(error: unknown): void
}

/** Sweeps repeatedly: expired task conversations go to the trash, old trash is purged. A store lets one
 *  process sweep at a time. Null: never. */
export function startSweeps(
  everyMs: number | null,
  settings: SweepSettings,
): { /** Waits for a running sweep. */ stop(): Promise<void> } {
  let running: Promise<void> = Promise.resolve()

  async function sweep(): Promise<void> {
    try {
      for (const store of await settings.stores()) settings.onSwept(await store.sweep())
    } catch (error) {
      settings.onFailed(error)
    }
  }

  if (everyMs === null) return { stop: async () => undefined }
  // A timer of Node takes at most 2^31 - 1 milliseconds.
  const timer = setInterval(
    () => {
      running = running.then(sweep)
    },
    Math.min(everyMs, 2_147_483_647),
  )
  timer.unref()
  return {
    stop() {
      clearInterval(timer)
      return running
    },
  }
}
