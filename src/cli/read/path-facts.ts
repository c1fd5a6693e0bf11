import type { Message } from '../../core/message.ts'
import type { Usage } from '../../core/turn.ts'
import type { ShownPath } from './shown-path.ts'

/** What a turn has cost, at its last answer on the path. */
export function turnUsageAt(
  message: Message,
  { path, turns }: Pick<ShownPath, 'path' | 'turns'>,
): Usage | null {
  if (message.role !== 'assistant' || message.turn === null) return null
  const turn = turns.get(message.turn)
  if (!turn || (turn.usage.input === undefined && turn.usage.output === undefined)) return null
  // A path has its messages in order of depth; what follows in the same turn comes right after.
  for (let i = message.depth + 1; path[i]?.turn === message.turn; i++) {
    if (path[i]!.role === 'assistant') return null
  }
  return turn.usage
}

export interface PathEnding {
  readonly status: 'interrupted' | 'failed' | 'not finished' | 'live'
  /** How long the turn had been running, where that is known. */
  readonly ms: number | null
}

/** How a turn ended, at its last message, if it did not end well. */
export function endingAt(
  message: Message,
  { turns }: Pick<ShownPath, 'turns'>,
  now: number,
): PathEnding | null {
  const turn = message.turn === null ? undefined : turns.get(message.turn)
  if (!turn || turn.last !== message.seq) return markedEnding(message)
  switch (turn.status) {
    case 'complete':
      return markedEnding(message)
    case 'open': {
      const isHeld = turn.leaseUntil === null || turn.leaseUntil.getTime() > now
      return { status: isHeld ? 'live' : 'not finished', ms: null }
    }
    default:
      return {
        status: turn.status,
        ms: turn.endedAt === null ? null : turn.endedAt.getTime() - turn.startedAt.getTime(),
      }
  }
}

/** An answer that was cut off says so itself, also where its turn went on after it. */
function markedEnding({ meta }: Message): PathEnding | null {
  if (meta?.interrupted === true) return { status: 'interrupted', ms: null }
  return meta?.failed === true ? { status: 'failed', ms: null } : null
}
