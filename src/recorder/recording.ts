import type { BranchRef } from '../core/branch.ts'
import type { TailFinder } from '../core/branch-with-tail.ts'
import type { Holder } from '../core/errors.ts'
import type { NewEvent } from '../core/event.ts'
import type { MessageId } from '../core/ids.ts'
import type { NewMessage } from '../core/message.ts'
import type { ConversationReader, ConversationWriter, MessageReader } from '../core/ports.ts'
import type { TurnStatus, Usage } from '../core/turn.ts'
import type { TurnWriter } from '../core/turn-writer.ts'
import type { RecorderLimits } from './limits.ts'

/** The ports of a store that a recorder needs. */
export type RecordStore = ConversationReader & MessageReader & TailFinder & ConversationWriter & TurnWriter

/** A storage failure during a turn. The turn continues. */
export interface Trouble {
  /** `degraded` when writes begin to queue, and again if they were only slow then and the store has now said
   *  why; `recovered` once, when all of them are stored; `unsaved` if the opening messages were not stored
   *  within `writeWithinMs`; `lost` for messages that will never be stored; `taken_over` if another process
   *  ended the turn because its lease had expired, or moved its branch: later messages go to a sibling branch
   *  if necessary, with a new key, and nothing is lost. */
  readonly kind: 'degraded' | 'recovered' | 'unsaved' | 'lost' | 'taken_over'
  /** The error of the store. After an outage, `recovered` repeats the error that began it. */
  readonly error: unknown
  /** How many writes are queued. */
  readonly waiting: number
}

/** A turn of another process that holds the branch. */
export interface BranchWait {
  /** The process of that turn. */
  readonly holder: Holder | null
  /** The end of its lease. A living process renews it; after a crash, the turn is taken over then. */
  readonly until: Date | null
}

/** What opens a turn, and what to do if the branch is not free. */
export interface BeginTurn {
  /** The messages that open the turn, usually one message of the user. They are stored before `beginTurn`
   *  returns. Empty to continue the turn at the end of the branch, if it was interrupted or failed; if there
   *  is none, a new turn begins with the first step. */
  readonly words: readonly NewMessage[]
  /** Names the turn: a retry with the same key and messages does not make a second one. Default: random. */
  readonly key?: string
  /** `live` (default) stores each step as it ends; `at_once` stores the whole turn in one transaction at its
   *  end. */
  readonly mode?: 'live' | 'at_once'
  /** If another turn holds the branch: throw BusyError (default), wait for it, or fork to a new sibling
   *  branch. */
  readonly onBusy?: 'refuse' | 'wait' | 'fork'
  /** The newest message that the caller knows. Default: the head of the branch. If the branch has moved,
   *  `onMoved` decides: throw ConflictError (default), or fork to a new sibling branch. */
  readonly expectedHead?: MessageId | null
  /** The head of the branch, as the caller has just read it: it is not read again. If the branch has moved
   *  meanwhile, the turn follows its new head. Used in the mode `live`, without `expectedHead`. */
  readonly likelyHead?: MessageId | null
  /** Applies if the head differs from `expectedHead`. Default: `refuse`. */
  readonly onMoved?: 'refuse' | 'fork'
  /** Makes the branch of the turn the one that callers find, in the transaction of its first write: see
   *  `AppendOptions.moveKey`. `from` is the branch that they find now: if the turn is written there, nothing
   *  has to move. */
  readonly moveKey?: { readonly key: string | null; readonly from: string }
  /** The model of the turn, stored with it. A step may name another one. */
  readonly model?: string
  /** The system prompt of this turn. Its hash is stored with the turn. */
  readonly prompt?: string
  /** Called when the turn begins to wait for another one (`onBusy: 'wait'`), and again when the holder has
   *  changed or has renewed its lease. */
  readonly onWait?: (wait: BranchWait) => void
  /** Called when storage fails or recovers. The turn continues. */
  readonly onTrouble?: (trouble: Trouble) => void
  /** Stops waiting for the branch. */
  readonly signal?: AbortSignal
  /** Replaces single values of `defaultLimits`. */
  readonly limits?: Partial<RecorderLimits>
}

/** A recorded step. `ids` is null if it is queued, or in the mode `at_once`. */
export interface RecordedStep {
  /** The ids of the stored messages, in the order given. */
  readonly ids: readonly [MessageId, ...MessageId[]] | null
}

/** How a turn ended, and how much of it is stored. */
export interface TurnReport {
  /** The status as stored. It differs from the given one if another process has ended the turn. */
  readonly status: Exclude<TurnStatus, 'open'>
  /** The branch that the messages are on. */
  readonly branch: BranchRef
  /** The newest stored message of the turn's path. Null if nothing is stored. */
  readonly head: MessageId | null
  /** True if all messages are stored. */
  readonly saved: boolean
  /** The messages that are not stored, in order. */
  readonly unsaved: readonly NewMessage[]
  /** Present if messages or the end of the turn are still queued. They are retried until they are stored;
   *  then it resolves with the final report, whose `saved` is false if they can never be stored. The retries
   *  do not keep the process alive: see `allSaved`. */
  readonly whenSaved?: Promise<TurnReport>
  /** How many messages were dropped because the queue was full; absent if none were. They follow those in
   *  `unsaved`. */
  readonly lost?: number
}

/** The end of a path: its newest stored message, and the queued messages after it, oldest first, including
 *  those of earlier turns. */
export interface PathPosition {
  /** The newest stored message. Null if the path has none. */
  readonly head: MessageId | null
  /** Queued messages that follow it. */
  readonly unsaved: readonly NewMessage[]
}

/** One turn being recorded. The effects of its methods are stored in the order of the calls. */
export interface TurnRecording {
  /** The turn's key. It differs from the given one if the turn continues after its end (`replayed`,
   *  `taken_over`). */
  readonly key: string
  /** If the same messages were already stored with the same key: the status of that turn. They are not stored
   *  again, and further messages go to the end of the branch. Absent otherwise. */
  readonly replayed?: Exclude<TurnStatus, 'open'>
  /** True if an earlier turn was reopened: the replayed one, or, without opening messages, the one at the end
   *  of the branch. */
  readonly reopened: boolean
  /** The head before the messages that opened the turn, if this call has stored them. Absent otherwise. */
  readonly openedAfter?: MessageId | null
  /** The branch of the turn: a sibling of the given one, if it had to fork. */
  readonly branch: BranchRef
  /** True if it is on another branch than the given one. */
  readonly forked: boolean
  /** The newest stored message. */
  readonly head: MessageId | null
  /** The messages for the model: the path to `head`, then `unsaved`. */
  position(): Promise<PathPosition>
  /** Adds a piece of the arriving answer. Returns at once; the piece is stored within 200 ms. */
  draft(piece: { readonly type: 'text' | 'thinking'; readonly text: string }): void
  /** Stores the messages of a step: an answer, or tool results. Resolves when they are durable, or queued
   *  because storage fails. Throws InvalidError for invalid messages. If another process has taken the turn
   *  over, they go to a sibling branch: see `branch`, `forked` and the trouble `taken_over`. */
  add(
    messages: readonly NewMessage[],
    facts?: {
      readonly usage?: Usage
      readonly model?: string
      /** Ends the turn with this step, in the same transaction. Call `end` as well. */
      readonly ends?: 'complete'
    },
  ): Promise<RecordedStep>
  /** Stores trace events; durable, or queued, when it resolves. Unlike messages, they may be stored twice if
   *  the connection breaks at the wrong moment. */
  trace(events: readonly NewEvent[]): Promise<void>
  /** Ends the turn. The draft of an incomplete answer becomes its last message. Does not throw if storage
   *  fails. */
  end(status: Exclude<TurnStatus, 'open'>, facts?: { readonly usage?: Usage }): Promise<TurnReport>
}
