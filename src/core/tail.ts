import type { Message } from './message.ts'

/** The size of a tail. With both limits, the smaller one applies. */
export interface TailBudget {
  /** Most tokens of the tail, by the stored counts. */
  readonly tokens?: number
  /** Most messages of the tail. */
  readonly messages?: number
}

/** The newest messages of a path, oldest first. */
export interface Tail {
  /** Whole turns. If the newest turn alone exceeds the budget, the newest messages of that turn that fit, and
   *  at least the last one. */
  readonly messages: readonly Message[]
  /** The message with which the newest turn begins, usually the prompt, if the tail starts inside that turn.
   *  Null if the tail starts with a turn. */
  readonly turnStart: Message | null
  /** Messages of the path before the tail. */
  readonly older: number
  /** Tokens of the path before the tail. */
  readonly olderTokens: number
}

/** A tail that starts inside a turn, with the beginning of that turn in front: the messages between are left
 *  out, and counted as older ones. A model then sees the question that the rest answers. Other tails are
 *  returned as they are. */
export function withTurnStart(tail: Tail): Tail {
  const { turnStart, messages, older, olderTokens } = tail
  if (turnStart === null) return tail
  return {
    messages: [turnStart, ...messages],
    turnStart,
    older: older - 1,
    olderTokens: olderTokens - turnStart.tokens,
  }
}

/** The tail after another message, which begins a turn: as a store reads it within the budget. `tail` has at
 *  least as much as the budget allows beside that message, and starts with a turn. */
export function tailWith(tail: Tail, added: Message, { tokens, messages }: Required<TailBudget>): Tail {
  const path = [...tail.messages, added]
  const fits = (message: Message) =>
    message.pathTokens - message.tokens >= added.pathTokens - tokens && message.depth > added.depth - messages
  const from = path.findIndex(message => fits(message) && beginsTurn(message))
  const kept = from < 0 ? [added] : path.slice(from)
  const [oldest] = kept as [Message]
  return {
    messages: kept,
    turnStart: null,
    older: oldest.depth,
    olderTokens: oldest.pathTokens - oldest.tokens,
  }
}

/** Outside turns, a user message or a root counts as a beginning. */
function beginsTurn({ turn, seq, role, parentId }: Message): boolean {
  return turn === null ? role === 'user' || parentId === null : turn === seq
}
