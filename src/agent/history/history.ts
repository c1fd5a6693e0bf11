import type { Window } from '../../context/fit/window.ts'
import type { BranchRef } from '../../core/branch.ts'
import type { Conversation, NewConversation } from '../../core/conversation.ts'
import type { Message } from '../../core/message.ts'
import type { Summary } from '../../core/summary.ts'
import type { BeginTurn, TurnRecording } from '../../recorder/recording.ts'

/** The conversation that a message is for: a key (found, or created with the first message), a key with the
 *  properties of a new conversation, or a branch. */
export type Target = string | BranchRef | (Omit<NewConversation, 'key'> & { readonly key: string })

/** Whether a target is a branch. A whole `Branch` also has a key, which may be null; its conversation id
 *  identifies it. */
export function isBranch(target: Target): target is BranchRef {
  return typeof target !== 'string' && 'conversationId' in target
}

/** One name for one conversation, however it is addressed. */
export function targetName(target: Target): string {
  if (typeof target === 'string') return target
  return isBranch(target) ? `${target.conversationId}:${target.name}` : target.key
}

/** A target and the conversation found for it. Both are null if there is no store. */
export interface ResolvedTarget {
  readonly target: Target
  readonly conversation: Conversation | null
  readonly branch: BranchRef | null
}

/** The messages of a conversation, as many as a window needs. */
export interface History {
  /** Oldest first. Large results may have only their beginning. */
  readonly messages: readonly Message[]
  /** How many messages of the path precede those, and how many of them no summary covers. */
  readonly older: number
  readonly missing: number
  /** A summary of the older messages, or of the first of them. */
  readonly summary: Summary | null
  /** How many messages and tokens of the path no summary covers; null if unknown. */
  readonly uncovered: { readonly messages: number; readonly tokens: number } | null
}

/** A turn that has begun. */
export interface BegunTurn {
  readonly recording: TurnRecording
  /** Reads the messages up to now, including those that opened the turn, as many as this window needs. */
  read(window: Window): Promise<History>
}

/** Where an agent keeps its conversations: in a store, or in memory. */
export interface HistoryStore {
  /** Finds the conversation of a target. If there is none, `make` creates it and `find` throws
   *  NotFoundError. */
  resolve(target: Target, otherwise: 'make' | 'find'): Promise<ResolvedTarget>
  beginTurn(resolved: ResolvedTarget, options: BeginTurn): Promise<BegunTurn>
}
