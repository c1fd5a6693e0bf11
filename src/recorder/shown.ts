import type { Opening } from './opening.ts'
import type { TurnRecording } from './recording.ts'
import type { TurnWrites } from './turn-writes.ts'

/** A recording that shows where its turn stands at the moment. */
export function shown(
  { key, ref }: Opening,
  writes: TurnWrites,
  does: Pick<TurnRecording, 'position' | 'draft' | 'add' | 'trace' | 'end'>,
): TurnRecording {
  const replayed = writes.standing?.replayed
  const reopened = writes.standing?.reopened === true
  return {
    ...does,
    ...(replayed && { replayed }),
    ...(reopened && { reopened }),
    get key() {
      return writes.standing?.key ?? key
    },
    get branch() {
      return writes.standing?.branch ?? ref
    },
    get forked() {
      return writes.standing?.forked ?? false
    },
    get head() {
      return writes.standing?.head ?? null
    },
  }
}
