import type { Message } from '../core/message.ts'
import type { Turn, Usage } from '../core/turn.ts'
import { type AnswerEnding, answerEnding } from './answer-ending.ts'

/** Whether an open turn is being answered, as far as the caller can know. */
export type IsLive = (turn: Turn) => boolean

/** Consecutive messages of a path and their turns. */
export interface MessagesAround {
  /** In order of depth. */
  readonly around: readonly Message[]
  /** By the seq of their first message, which `Message.turn` refers to. */
  readonly turns: ReadonlyMap<number, Turn>
}

/** The usage of a turn, at its last answer on the path. */
export function turnUsageAt(message: Message, { around, turns }: MessagesAround): Usage | null {
  if (message.role !== 'assistant' || message.turn === null) return null
  const turn = turns.get(message.turn)
  if (!turn || (turn.usage.input === undefined && turn.usage.output === undefined)) return null
  // A path is in order of depth, and the messages of a turn are consecutive.
  for (let i = message.depth + 1 - around[0]!.depth; around[i]?.turn === message.turn; i++) {
    if (around[i]!.role === 'assistant') return null
  }
  return turn.usage
}

/** How a turn ended, at its last message. */
export interface PathEnding {
  /** `not finished` if the process that answered has died. */
  readonly status: AnswerEnding | 'not finished' | 'live'
  /** The duration of the turn; null if unknown. */
  readonly ms: number | null
}

/** How the turn ended, at its last message; null if it completed with a whole answer. */
export function endingAt(
  message: Message,
  turns: ReadonlyMap<number, Turn>,
  isLive: IsLive,
): PathEnding | null {
  const turn = message.turn === null ? undefined : turns.get(message.turn)
  if (!turn || turn.last !== message.seq) return markedEnding(message)
  switch (turn.status) {
    case 'complete':
      return markedEnding(message)
    case 'open':
      return { status: isLive(turn) ? 'live' : 'not finished', ms: null }
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

/** The ending as a status of the message. An answer that the provider cut is complete: `stop` has the
 *  reason. */
export function statusAt(ending: PathEnding | null): 'complete' | 'open' | 'interrupted' | 'failed' {
  switch (ending?.status) {
    case 'live':
      return 'open'
    case 'failed':
      return 'failed'
    case 'interrupted':
    case 'not finished':
      return 'interrupted'
    default:
      return 'complete'
  }
}
