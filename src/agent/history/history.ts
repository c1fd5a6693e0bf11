import type { Window } from '../../context/fit/window.ts'
import type { Branch, BranchRef } from '../../core/branch.ts'
import { checkObject } from '../../core/check.ts'
import type { Conversation, NewConversation } from '../../core/conversation.ts'
import { messageOfDraft } from '../../core/draft.ts'
import type { Message, NewMessage } from '../../core/message.ts'
import type { Summary } from '../../core/summary.ts'
import type { DraftPiece } from '../../core/turn.ts'
import type { BeginTurn, TurnRecording, TurnReport } from '../../recorder/recording.ts'
import type { KnownEnd } from './known-end.ts'
import { localMessage } from './local-message.ts'

/** The conversation that a message is for: a key (found, or created with the first message), a key with the
 *  properties of a new conversation, or a branch. */
export type Target =
  | string
  | BranchRef
  | (Omit<NewConversation, 'key'> & {
      /** Finds the conversation. If there is none, it is created with the other properties. */
      readonly key: string
    })

/** Whether a target is a branch. A whole `Branch` also has a key, which may be null; its conversation id
 *  identifies it. */
export function isBranch(target: Target): target is BranchRef {
  return typeof target !== 'string' && 'conversationId' in target
}

/** One name for one conversation, however it is addressed. */
export function targetName(target: Target): string {
  if (typeof target === 'string') return target
  checkObject(target, 'target', 'a key, a key with settings, or a branch')
  return isBranch(target) ? `${target.conversationId}:${target.name}` : target.key
}

/** A target and the conversation found for it. Both are null if there is no store. */
export interface ResolvedTarget {
  readonly target: Target
  readonly conversation: Conversation | null
  readonly branch: Branch | null
  /** The end of the branch, if it was read with it. */
  readonly end: KnownEnd | null
}

/** The system prompt of a turn: the agent's own, unless the conversation keeps the one that it began with. */
export function systemPromptOf({ conversation }: ResolvedTarget, own: string | null): string | null {
  const { promptPolicy = 'rebuild', prompt = null } = conversation ?? {}
  return promptPolicy === 'rebuild' ? own : (prompt?.text ?? own)
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
  /** Finds the conversation of a target, and reads what a context of the window needs of it. If there is
   *  none, `make` creates it and `find` throws NotFoundError. */
  resolve(target: Target, otherwise: 'make' | 'find', window: Window | null): Promise<ResolvedTarget>
  beginTurn(resolved: ResolvedTarget, options: BeginTurn): Promise<BegunTurn>
}

/** Keeps conversations in memory while the agent lives. Every conversation begins with `history`. */
export function memoryHistory(history: readonly NewMessage[] = []): HistoryStore {
  const conversations = new Map<string, Message[]>()
  const messagesOf = (target: Target): Message[] => {
    const name = targetName(target)
    const known = conversations.get(name) ?? []
    if (!conversations.has(name)) {
      for (const message of history) push(known, message)
      conversations.set(name, known)
    }
    return known
  }
  return {
    resolve: async target => ({ target, conversation: null, branch: null, end: null }),
    beginTurn: async ({ target }, options) => begunTurn(messagesOf(target), options),
  }
}

function push(messages: Message[], message: NewMessage): void {
  messages.push(localMessage(message, messages.at(-1), null))
}

function begunTurn(messages: Message[], options: BeginTurn): BegunTurn {
  const draft: Pick<DraftPiece, 'type' | 'text'>[] = []
  for (const message of options.words) push(messages, message)
  const recording: TurnRecording = {
    key: options.key ?? 'unrecorded',
    // Not used: `resolve` returns a null branch, and callers look at that first.
    branch: { conversationId: messages[0]?.conversationId as never, name: 'main' },
    forked: false,
    reopened: false,
    head: null,
    position: async () => ({ head: null, unsaved: [] }),
    draft: piece => void draft.push(piece),
    async add(added) {
      draft.length = 0
      for (const message of added) push(messages, message)
      return { ids: null }
    },
    trace: async () => undefined,
    async end(status): Promise<TurnReport> {
      const half = messageOfDraft(draft, status)
      if (half) push(messages, half)
      return { status, branch: recording.branch, head: null, saved: true, unsaved: [] }
    },
  }
  return {
    recording,
    read: async () => ({ messages: [...messages], older: 0, missing: 0, summary: null, uncovered: null }),
  }
}
