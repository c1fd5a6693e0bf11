import type { RecorderSource } from '../../system/source.ts'
import type { Heard } from '../transcript/heard.ts'

/** How long an agent must be silent before its replay is considered complete. Some answer a load in the
 *  middle of it. */
export const quietMs = 200

/** The longest wait for a replay after the answer. */
const longestMs = 5_000

/** Collects the updates that an agent sends while it opens a session. They are about the past: a client gets
 *  them from the store instead. */
export interface ReplayWindow {
  readonly isOpen: boolean
  /** The number of updates so far. */
  readonly count: number
  hear(heard: Heard): void
  /** The agent has answered: from now on, silence ends the replay. */
  answered(): void
  /** Waits for the end of the replay, and returns all updates in order. */
  whole(): Promise<readonly Heard[]>
}

export function openReplay(source: Pick<RecorderSource, 'now' | 'after'>): ReplayWindow {
  const replayed: Heard[] = []
  const over = Promise.withResolvers<void>()
  let isOpen = true
  let callOff: (() => void) | null = null
  let deadline = Number.POSITIVE_INFINITY

  function close(): void {
    isOpen = false
    callOff = null
    over.resolve()
  }

  function wait(): void {
    callOff?.()
    callOff = source.after(Math.min(quietMs, Math.max(0, deadline - source.now())), close)
  }

  return {
    get isOpen() {
      return isOpen
    },
    get count() {
      return replayed.length
    },
    hear(heard) {
      replayed.push(heard)
      if (callOff) wait()
    },
    answered() {
      if (!isOpen || callOff) return
      deadline = source.now() + longestMs
      wait()
    },
    async whole() {
      await over.promise
      return replayed
    },
  }
}
