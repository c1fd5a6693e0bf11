import type { TurnRequest } from './open-turn.ts'
import type { TurnRecording } from './recording.ts'
import type { TurnWrites } from './turn-writes.ts'

/** A `TurnRecording` whose properties show the current position of its turn. */
export function turnView(
  { key, ref }: TurnRequest,
  writes: TurnWrites,
  does: Pick<TurnRecording, 'position' | 'draft' | 'add' | 'trace' | 'end'>,
): TurnRecording {
  const replayed = writes.position?.replayed
  const reopened = writes.position?.reopened === true
  const openedAfter = writes.position?.openedAfter
  return {
    ...does,
    ...(replayed && { replayed }),
    reopened,
    ...(openedAfter !== undefined && { openedAfter }),
    get key() {
      return writes.position?.key ?? key
    },
    get branch() {
      return writes.position?.branch ?? ref
    },
    get forked() {
      return writes.position?.forked ?? false
    },
    get head() {
      return writes.position?.head ?? null
    },
  }
}
