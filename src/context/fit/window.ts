import type { Block } from '../../core/block.ts'
import { InvalidError } from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import type { ContextMessage } from '../../core/model.ts'

/** Counts the tokens of a message's blocks. */
export type CountTokens = (blocks: readonly Block[]) => number

/** How much a model may be given. */
export interface Window {
  /** The model's window, in tokens. */
  readonly limit: number
  /** The part of it that may be used. Default: 0.8. */
  readonly threshold?: number
  /** An upper limit in tokens, for any size of window (`conversation.max_tokens`). */
  readonly maxTokens?: number
  /** Tokens to keep free for the answer. Default: 0. */
  readonly reserveOutput?: number
  /** The newest messages, which are kept whole if they fit. Default: 10. */
  readonly keepRecent?: number
  /** Most messages of the conversation. The newest question and the last step are kept in any case. */
  readonly maxMessages?: number
  /** Most characters of the conversation; media have none. */
  readonly maxChars?: number
  /** Leaves out exchanges that ended this long before the newest message, in milliseconds
   *  (`conversation.max_age`). The newest exchange is kept in any case. */
  readonly maxAgeMs?: number
  /** Most messages to read from the store (`conversation.load_limit`). The newest turn is read as a whole. */
  readonly maxLoaded?: number
}

/** The options of a window by name, for callers without types. */
export const windowFields: Readonly<Record<keyof Window, true>> = {
  limit: true,
  threshold: true,
  maxTokens: true,
  reserveOutput: true,
  keepRecent: true,
  maxMessages: true,
  maxChars: true,
  maxAgeMs: true,
  maxLoaded: true,
}

/** What precedes the messages, and is budgeted before them. */
export interface Pinned {
  /** The system prompt, the first message of the context. Default: none. */
  readonly system?: string | null
  /** A summary of the beginning of the path, and the last message that it covers. */
  readonly summary?: { readonly text: string; readonly last: MessageId } | null
  /** Further system texts for this call only, such as a digest of earlier conversations. */
  readonly notes?: readonly string[]
  /** Tokens of other parts of the request: the tools' descriptions. */
  readonly overhead?: number
  /** How many messages of the path precede the given ones, without those that a summary covers. */
  readonly older?: number
}

/** Why messages of the path are not in the context. */
export type LeftReason = 'window' | 'max_messages' | 'max_chars' | 'max_age' | 'summarised' | 'no_question'

/** Messages of the path that are not in the context, for one reason. */
export interface LeftOut {
  /** The limit that excluded them, `summarised` if a summary represents them, or `no_question` if they
   *  precede the first message of a user. */
  readonly reason: LeftReason
  /** How many messages. */
  readonly messages: number
  /** Their tokens. */
  readonly tokens: number
}

/** A message that was shortened so that the newest question fits. */
export interface CutMessage {
  /** The stored message. Its stored content is unchanged. */
  readonly id: MessageId
  /** The tokens of the whole message. */
  readonly tokensBefore: number
  /** The tokens of the part that is in the context. */
  readonly tokensAfter: number
}

/** A context for one call, with an account of what is not in it. */
export interface Fitted {
  /** System prompt, then notes, summary or notice, then the conversation, oldest first. */
  readonly messages: readonly ContextMessage[]
  /** What is not in the context. Empty if everything fits. */
  readonly left: readonly LeftOut[]
  /** Messages of which only a part is in the context. Empty if none was shortened. */
  readonly cut: readonly CutMessage[]
  /** Tokens by part; `total` is their sum, `budget` the limit. */
  readonly tokens: {
    readonly system: number
    readonly notes: number
    readonly summary: number
    readonly notice: number
    readonly overhead: number
    readonly messages: number
    readonly total: number
    readonly budget: number
  }
}

/** Most tokens of a context: min(`maxTokens`, threshold × limit), minus the tokens reserved for the answer.
 *  Throws InvalidError for an invalid window: every context would fit into a budget that is NaN. */
export function budgetOf(window: Window): number {
  checkWindow(window)
  const { limit, threshold = 0.8, maxTokens = Number.POSITIVE_INFINITY, reserveOutput = 0 } = window
  return Math.floor(Math.min(maxTokens, threshold * limit)) - reserveOutput
}

function checkWindow(window: Window): void {
  for (const field of ['limit', 'maxTokens', 'maxAgeMs', 'maxLoaded'] as const) {
    const value = window[field]
    if (value !== undefined && !(value > 0)) throw new InvalidError(`window.${field}`, 'must be above 0')
  }
  for (const field of ['reserveOutput', 'keepRecent', 'maxMessages', 'maxChars'] as const) {
    const value = window[field]
    if (value !== undefined && !(value >= 0)) throw new InvalidError(`window.${field}`, 'must not be below 0')
  }
  const { threshold = 1 } = window
  if (!(threshold > 0 && threshold <= 1)) {
    throw new InvalidError('window.threshold', 'must be above 0, and 1 at most')
  }
}

/** The windows to try in turn while the provider refuses the context as too long: the window itself, half of
 *  its budget, a quarter, and last the newest question with the last step of its exchange, in an eighth.
 *  `pinned` are the tokens that every request has (system prompt, tools); the shares are of the rest. A
 *  refusal of the last window is final. */
export function shrinkSteps(window: Window, pinned = 0): readonly [whole: Window, ...smaller: Window[]] {
  const share = (part: number) => shareOf(window, pinned, part)
  return [window, share(1 / 2), share(1 / 4), { ...share(1 / 8), maxMessages: 1 }]
}

/** A window with this part of the budget. The limit expresses it, so that neither `threshold` nor `maxTokens`
 *  applies a second time. */
function shareOf(window: Window, pinned: number, part: number): Window {
  const { maxTokens: _, reserveOutput = 0, ...rest } = window
  const whole = budgetOf(window)
  const fixed = Math.min(pinned, whole)
  const budget = Math.max(1, fixed + Math.floor((whole - fixed) * part))
  return { ...rest, reserveOutput, limit: budget + reserveOutput, threshold: 1 }
}

/** The size of messages, or the space for them. */
export interface Room {
  tokens: number
  messages: number
  characters: number
}

/** Why `taken` is more than `room`; null if it fits. */
export function exceeds(taken: Readonly<Room>, room: Readonly<Room>): LeftReason | null {
  if (taken.tokens > room.tokens) return 'window'
  if (taken.messages > room.messages) return 'max_messages'
  return taken.characters > room.characters ? 'max_chars' : null
}

/** The size of these messages together. */
export function roomFor(items: readonly { readonly tokens: number; readonly characters: number }[]): Room {
  const room = { tokens: 0, messages: items.length, characters: 0 }
  for (const { tokens, characters } of items) {
    room.tokens += tokens
    room.characters += characters
  }
  return room
}

/** How many tokens may stay if there are too many: less than the room, so that the next calls drop the same
 *  messages. Providers cache the beginning of a context, which then costs a tenth; if each call dropped a
 *  little more, no two calls would begin alike.
 *
 *  The excess is rounded up to a multiple of a step. It stays the same multiple, whatever is added, until the
 *  room is full again. The step is a power of two between an eighth and a quarter of the room, so that it
 *  stays the same if the room changes a little, as it does when counts are calibrated. */
export function roomWithMargin(total: number, room: number): number {
  const excess = total - room
  if (!(excess > 0 && room >= 4)) return room
  const step = 2 ** Math.floor(Math.log2(room / 4))
  return total - Math.ceil(excess / step) * step
}
