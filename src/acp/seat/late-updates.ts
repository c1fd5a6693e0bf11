import type { RecorderSource } from '../../system/source.ts'
import type { Heard } from '../transcript/heard.ts'

/** How long after the end of a turn its last updates may still be on their way. */
const lateMs = 15

/** Detects when an agent stops sending updates. */
export interface SilenceWatch {
  heard(): void
  /** Resolves after a moment without updates. */
  silence(): Promise<void>
}

export function watchSilence(source: Pick<RecorderSource, 'now' | 'after'>): SilenceWatch {
  let last = 0
  return {
    heard() {
      last = source.now()
    },
    silence: () =>
      new Promise(resolve => {
        const wait = (ms: number) => {
          source.after(ms, () => {
            const silent = source.now() - last
            if (silent >= lateMs || silent < 0) resolve()
            else wait(lateMs - silent)
          })
        }
        wait(lateMs)
      }),
  }
}

/** How long after the last late update all of them are stored. */
const quietMs = 200

/** Pauses between two tries to store them. */
const firstRetryMs = 1_000
const longestRetryMs = 30_000

/** Updates that arrived after the end of their turn and are not stored yet. */
export interface LateUpdates {
  readonly isEmpty: boolean
  add(heard: Heard): void
  /** Removes and returns all of them. */
  take(): readonly Heard[]
}

/** Calls `store` after a moment without updates, and again as long as it fails. It must leave the updates
 *  here until they can be written. */
export function createLateUpdates(
  source: Pick<RecorderSource, 'after'>,
  store: () => Promise<void>,
): LateUpdates {
  let waiting: Heard[] = []
  let cancel: (() => void) | null = null

  function storeAfter(ms: number, retryMs: number): void {
    cancel?.()
    const run = () => {
      store().catch(() => {
        if (waiting.length > 0) storeAfter(retryMs, Math.min(2 * retryMs, longestRetryMs))
      })
    }
    cancel = source.after(ms, run, { idle: true })
  }

  return {
    get isEmpty() {
      return waiting.length === 0
    },
    add(heard) {
      waiting.push(heard)
      storeAfter(quietMs, firstRetryMs)
    },
    take() {
      const taken = waiting
      waiting = []
      return taken
    },
  }
}
