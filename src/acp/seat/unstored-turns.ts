import type { NewMessage } from '../../core/message.ts'
import type { RecorderSource } from '../../system/source.ts'
import type { Heard } from '../transcript/heard.ts'
import type { AgentTurnEnd } from '../transcript/record-turn.ts'

/** A turn that the store could not take when it happened. */
export interface UnstoredTurn {
  readonly words: readonly NewMessage[]
  readonly heard: Heard[]
  readonly ending: AgentTurnEnd
}

/** Turns that wait for the store, in memory, oldest first. */
export interface UnstoredTurns {
  readonly count: number
  add(turn: UnstoredTurn): void
  /** An update that belongs to the newest turn. */
  addLate(heard: Heard): void
  /** Stores all of them, in order. Rejects at the first one that cannot be stored. */
  storeAll(): Promise<void>
}

/** Most characters of all turns that wait. */
const mostCharacters = 64 * 1024 * 1024

/** Pauses between two tries to store them. */
const firstRetryMs = 500
const longestRetryMs = 5_000

/** Calls `later` to store the turns after a pause, and again as long as that fails. If there are too many,
 *  the newest is dropped and reported: a missing end is better than a gap. */
export function createUnstoredTurns(
  source: Pick<RecorderSource, 'after'>,
  {
    store,
    later,
    onStored,
    onLost,
  }: {
    store(turn: UnstoredTurn): Promise<void>
    later(): Promise<void>
    onStored(): void
    onLost(): void
  },
): UnstoredTurns {
  const waiting: UnstoredTurn[] = []
  let characters = 0

  function retryAfter(ms: number): void {
    const retry = () => void later().catch(() => retryAfter(Math.min(2 * ms, longestRetryMs)))
    source.after(ms, retry, { idle: true })
  }

  return {
    get count() {
      return waiting.length
    },
    add(turn) {
      const size = JSON.stringify(turn.words).length + JSON.stringify(turn.heard).length
      if (characters + size > mostCharacters) {
        onLost()
        return
      }
      characters += size
      waiting.push(turn)
      if (waiting.length === 1) retryAfter(firstRetryMs)
    },
    addLate(heard) {
      waiting.at(-1)?.heard.push(heard)
    },
    async storeAll() {
      for (let turn = waiting[0]; turn; turn = waiting[0]) {
        await store(turn)
        waiting.shift()
      }
      if (characters > 0) onStored()
      characters = 0
    },
  }
}
