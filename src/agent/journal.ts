import type { Window } from '../context/fit/window.ts'
import type { BranchRef } from '../core/branch.ts'
import type { Conversation, NewConversation } from '../core/conversation.ts'
import type { Message } from '../core/message.ts'
import type { Summary } from '../core/summary.ts'
import type { BeginTurn, TurnRecording } from '../recorder/recording.ts'

/** Whom a message is for: a key (found, or made with the first message), a key with what a new conversation
 *  should be, or a branch. */
export type Target = string | BranchRef | (Omit<NewConversation, 'key'> & { readonly key: string })

/** A whole `Branch` has a key too, which may be null: what names a branch is its conversation. */
export function isBranch(target: Target): target is BranchRef {
  return typeof target !== 'string' && 'conversationId' in target
}

/** A conversation as the agent meets it. Both are null where nothing is stored. */
export interface Meeting {
  readonly target: Target
  readonly conversation: Conversation | null
  readonly branch: BranchRef | null
}

/** What was said, as much of it as a window needs. */
export interface History {
  /** Oldest first; large results may hold only their beginning. */
  readonly messages: readonly Message[]
  /** Messages of the path that lie before those, and how many of them no summary stands for. */
  readonly older: number
  readonly missing: number
  /** A summary of what lies before, or of the beginning of it. */
  readonly summary: Summary | null
  /** Messages and tokens of the path that no summary stands for; null if that is not known. */
  readonly uncovered: { readonly messages: number; readonly tokens: number } | null
}

/** A turn that has begun. */
export interface Opened {
  readonly recording: TurnRecording
  /** What was said up to now, the words that opened the turn included; as much of it as this window needs. */
  read(window: Window): Promise<History>
}

/** Where an agent keeps what is said: a store, or its own memory. */
export interface Journal {
  /** Finds a conversation; `make` makes it where there is none, `find` throws NotFoundError. */
  meet(target: Target, otherwise: 'make' | 'find'): Promise<Meeting>
  begin(meeting: Meeting, options: BeginTurn): Promise<Opened>
}
