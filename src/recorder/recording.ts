import type { BranchRef } from '../core/branch.ts'
import type { NewEvent } from '../core/event.ts'
import type { MessageId } from '../core/ids.ts'
import type { NewMessage, NonEmpty } from '../core/message.ts'
import type { ConversationReader, ConversationWriter, MessageReader, TurnWriter } from '../core/ports.ts'
import type { TurnStatus, Usage } from '../core/turn.ts'
import type { RecorderLimits } from './limits.ts'

/** What a recorder needs of a store. */
export type RecordStore = ConversationReader & MessageReader & ConversationWriter & TurnWriter

/** What went wrong with the storage while a turn was running. The turn goes on. */
export interface Trouble {
  /** `degraded` once, when writes begin to wait; `recovered` once, when all of them are stored; `unsaved` if
   *  the person's words were not stored within two seconds; `lost` for what will never be stored;
   *  `taken_over` if another ended the turn, as it had been silent for too long, or moved its branch: what
   *  follows goes beside it where it must, under a new key, and nothing is lost. */
  readonly kind: 'degraded' | 'recovered' | 'unsaved' | 'lost' | 'taken_over'
  readonly error: unknown
  /** Writes that wait. */
  readonly waiting: number
}

export interface BeginTurn {
  /** What opens the turn, usually the one message of the user. Stored before `beginTurn` returns. Empty to go
   *  on with the turn that the branch ends with, if that was interrupted or failed; where there is none, a
   *  new turn begins with the first step. */
  readonly words: readonly NewMessage[]
  /** Names the turn; a retry with the same key and words is not a second one. Random unless given. */
  readonly key?: string
  /** `live` (default) stores each step as it ends; `at_once` stores the whole turn in one transaction at its
   *  end. */
  readonly mode?: 'live' | 'at_once'
  /** Where another's turn holds the branch: throw BusyError (default), wait for it, or go on beside it. */
  readonly onBusy?: 'refuse' | 'wait' | 'fork'
  /** The message the caller saw as the newest; the branch's own head unless given. Where the branch has moved
   *  on, `onMoved` decides: throw ConflictError (default), or go on beside it. */
  readonly expectedHead?: MessageId | null
  readonly onMoved?: 'refuse' | 'fork'
  readonly model?: string
  /** The system prompt of this turn, whose hash is kept with it. */
  readonly prompt?: string
  readonly onTrouble?: (trouble: Trouble) => void
  /** Gives up waiting for the branch. */
  readonly signal?: AbortSignal
  readonly limits?: Partial<RecorderLimits>
}

/** A step that was handed over. `ids` is null if it waits to be stored, or in the mode `at_once`. */
export interface Recorded {
  readonly ids: NonEmpty<MessageId> | null
}

/** How a turn was ended, and what of it is on the disk. */
export interface TurnReport {
  readonly status: Exclude<TurnStatus, 'open'>
  readonly branch: BranchRef
  readonly head: MessageId | null
  /** True if everything that was said is stored. */
  readonly saved: boolean
  /** The messages that are not stored, in order. */
  readonly unsaved: readonly NewMessage[]
  /** Present if the end of the turn, or messages of it, still wait: they stay queued and are retried until
   *  they are stored. Resolves with the final report then; its `saved` is false if they can never be stored.
   *  The retries do not keep the process alive: see `allSaved`. */
  readonly whenSaved?: Promise<TurnReport>
  /** How many messages were let go because more waited than there is room for; absent if none were. They come
   *  after those in `unsaved`. */
  readonly lost?: number
}

/** The end of a path: its newest stored message, and the messages after it that wait to be stored, oldest
 *  first. Those of earlier turns that wait are among them. */
export interface PathPosition {
  readonly head: MessageId | null
  readonly unsaved: readonly NewMessage[]
}

/** One turn being recorded. Calls are stored in the order they are made. */
export interface TurnRecording {
  /** The turn's key: another one than was given if it goes on after an end (`replayed`, `taken_over`). */
  readonly key: string
  /** If the same words had been stored under the same key before: how that turn ended. They were not stored
   *  again, and what is added goes on at the end of the branch. Absent otherwise. */
  readonly replayed?: Exclude<TurnStatus, 'open'>
  /** True if an earlier turn was taken up again: the one that was replayed, or, where no words were given,
   *  the one that the branch ended with. Absent otherwise. */
  readonly reopened?: true
  /** Where it is stored: a sibling branch if that was asked for and needed. */
  readonly branch: BranchRef
  /** True if it went beside the branch that was named. */
  readonly forked: boolean
  /** The newest stored message. */
  readonly head: MessageId | null
  /** What the model has to be given: the path to `head`, then `unsaved`. */
  position(): Promise<PathPosition>
  /** A piece of the answer that is arriving. Returns at once; on the disk within 200 ms. */
  draft(piece: { readonly type: 'text' | 'thinking'; readonly text: string }): void
  /** Stores what a step brought: an answer, or results of tools. Resolves when it is durable, or when it
   *  waits in the queue because the storage fails. Throws InvalidError for what cannot be stored. If the turn
   *  was taken over by another, it goes on beside it: see `branch`, `forked` and the trouble `taken_over`. */
  add(
    messages: NonEmpty<NewMessage>,
    facts?: {
      readonly usage?: Usage
      readonly model?: string
      /** Ends the turn with this step, in the same transaction; `end` is still to be called. */
      readonly ends?: 'complete'
    },
  ): Promise<Recorded>
  /** Stores trace records; durable, or waiting, when it resolves. Unlike words, they may be stored twice if
   *  the connection breaks at the wrong moment. */
  trace(events: NonEmpty<NewEvent>): Promise<void>
  /** Ends the turn; what had arrived of an answer becomes its last message. Never throws for the storage's
   *  sake. */
  end(status: Exclude<TurnStatus, 'open'>, facts?: { readonly usage?: Usage }): Promise<TurnReport>
}
