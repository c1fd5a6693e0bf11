import type { Message } from '../../core/message.ts'
import type { Usage } from '../../core/turn.ts'
import { type AnswerEnding, answerEnding, endingWords } from '../output/answer-ending.ts'
import { formatDuration } from '../output/time.ts'
import { isTurnLive } from './live-turn.ts'
import type { PathPart } from './shown-path.ts'

/** The usage of a turn, at its last answer on the path. */
export function turnUsageAt(
  message: Message,
  { around, turns }: Pick<PathPart, 'around' | 'turns'>,
): Usage | null {
  if (message.role !== 'assistant' || message.turn === null) return null
  const turn = turns.get(message.turn)
  if (!turn || (turn.usage.input === undefined && turn.usage.output === undefined)) return null
  // A path is in order of depth, and the messages of a turn are consecutive.
  for (let i = message.depth + 1 - around[0]!.depth; around[i]?.turn === message.turn; i++) {
    if (around[i]!.role === 'assistant') return null
  }
  return turn.usage
}

export interface PathEnding {
  readonly status: AnswerEnding | 'not finished' | 'live'
  /** The duration of the turn; null if unknown. */
  readonly ms: number | null
}

/** How the turn ended, at its last message; null if it completed with a whole answer. */
export function endingAt(
  message: Message,
  { turns }: Pick<PathPart, 'turns'>,
  now: number,
): PathEnding | null {
  const turn = message.turn === null ? undefined : turns.get(message.turn)
  if (!turn || turn.last !== message.seq) return markedEnding(message)
  switch (turn.status) {
    case 'complete':
      return markedEnding(message)
    case 'open':
      return { status: isTurnLive(turn, now) ? 'live' : 'not finished', ms: null }
    default:
      return {
        status: turn.status,
        ms: turn.endedAt === null ? null : turn.endedAt.getTime() - turn.startedAt.getTime(),
      }
  }
}

/** An incomplete answer is marked, even if its turn continued after it. */
function markedEnding(message: Message): PathEnding | null {
  const status = message.role === 'assistant' ? answerEnding(message) : null
  return status && { status, ms: null }
}

/** The ending in words. */
export function endingText({ status, ms }: PathEnding): string {
  const words = status === 'live' || status === 'not finished' ? status : endingWords[status]
  return ms === null ? words : `${words} after ${formatDuration(ms)}`
}
