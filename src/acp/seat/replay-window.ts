import type { RecorderSource } from '../../system/source.ts'
import type { Heard } from '../transcript/heard.ts'

/** How long an agent has to be silent before its replay is taken to be over. Some answer a load in the middle
 *  of it. */
export const quietMs = 200

/** No replay is waited for longer than this after the answer. */
const longestMs = 5_000

/** What an agent says of the past while it takes a session up again: nothing that a client should see,
 *  because we have it from the store, and nothing that happens now. */
export interface ReplayWindow {
  readonly isOpen: boolean
  hear(heard: Heard): void
  /** The agent has answered: from now on silence means that it is over. */
  answered(): void
  /** Waits for that silence. All that was replayed, in order. */
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
