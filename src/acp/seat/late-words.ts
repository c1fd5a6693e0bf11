import type { RecorderSource } from '../../system/source.ts'
import type { Heard } from '../transcript/heard.ts'

/** How long after the last of them late words are kept. */
const quietMs = 200

/** What an agent says after its turn has ended, until it is kept. */
export interface LateWords {
  hear(heard: Heard): void
  /** All that has not been taken yet. */
  take(): readonly Heard[]
}

/** Calls `keep` when the agent has fallen silent. */
export function createLateWords(source: Pick<RecorderSource, 'after'>, keep: () => void): LateWords {
  let waiting: Heard[] = []
  let callOff: (() => void) | null = null
  return {
    hear(heard) {
      waiting.push(heard)
      callOff?.()
      callOff = source.after(quietMs, keep, { idle: true })
    },
    take() {
      const taken = waiting
      waiting = []
      return taken
    },
  }
}
