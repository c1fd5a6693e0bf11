import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { Json } from '../../core/json.ts'

/** What a call does, as the Agent Client Protocol names it. */
export type CallKind =
  | 'read'
  | 'search'
  | 'edit'
  | 'delete'
  | 'move'
  | 'execute'
  | 'fetch'
  | 'think'
  | 'other'

/** What a call would change, to show it to a person. */
export type CallPreview =
  | {
      readonly type: 'diff'
      /** The file, as an absolute path. */
      readonly path: string
      /** Null for a new file. */
      readonly oldText: string | null
      /** The text after the change. */
      readonly newText: string
    }
  | {
      readonly type: 'command'
      /** The command line, as the shell gets it. */
      readonly command: string
      /** The directory in which it runs. */
      readonly directory: string
    }

/** What a tool knows about a call that needs an approval. */
export interface ApprovalDetails {
  /** The call in one line. Default: the tool's name and its input. */
  readonly title?: string
  /** What it would change. Default: nothing is shown but the title. */
  readonly preview?: CallPreview
  /** Why this call is asked for although others of the tool are not: `outside the project`. Such a call is
   *  asked for in every mode. Default: null. */
  readonly reason?: string | null
  /** Which later calls an answer for longer than one call covers: those with the same scope. Default: all
   *  calls of the tool. */
  readonly scope?: string
}

/** A call that waits for an answer. It consists of JSON and ids only, so that it can be stored and
 *  answered by another process. */
export interface ApprovalRequest {
  /** Identifies the call within its conversation. A resumed turn asks again with the same id. */
  readonly callId: string
  /** The name of the tool. */
  readonly name: string
  /** The arguments, as the model wrote them. */
  readonly input: Json
  /** What the call does. Guessed from the tool's name unless the tool declares it. */
  readonly kind: CallKind
  /** The call in one line, for people. */
  readonly title: string
  /** What it would change. Null if the tool cannot tell. */
  readonly preview: CallPreview | null
  /** Why this call is asked for in every mode. Null for an ordinary call. */
  readonly reason: string | null
  /** Which later calls an answer for longer than one call covers. */
  readonly scope: string
  /** The conversation. Null if nothing is stored. */
  readonly conversationId: ConversationId | null
  /** The stored message that contains the call. Null if it is queued, or if there is no store. */
  readonly messageId: MessageId | null
  /** The key of the turn. */
  readonly turn: string
}

/** The answer to a request: once, for this conversation, always, or not at all. */
export type ApprovalAnswer = 'allow' | 'allow_in_conversation' | 'allow_always' | 'deny'

/** Decides whether a call may run. It is asked before the start of the call is stored, one request of an
 *  agent at a time. An error denies the call. The signal is aborted with the run. */
export type Approve = (
  request: ApprovalRequest,
  signal: AbortSignal,
) => ApprovalAnswer | Promise<ApprovalAnswer>

/** Remembers answers that hold for longer than one call, so that the same question is not asked twice. */
export interface ApprovalMemory {
  /** Whether an earlier answer allows this call. */
  allows(request: ApprovalRequest): boolean | Promise<boolean>
  /** Keeps an answer for this conversation, or for all. */
  remember(request: ApprovalRequest, answer: 'allow_in_conversation' | 'allow_always'): void | Promise<void>
}

/** A memory for one process. Without a store, an answer for a conversation holds for the whole memory. */
export function approvalMemory(): ApprovalMemory {
  const always = new Set<string>()
  const inConversation = new Set<string>()
  const idOf = ({ conversationId, scope }: ApprovalRequest) => JSON.stringify([conversationId, scope])
  return {
    allows: request => always.has(request.scope) || inConversation.has(idOf(request)),
    remember(request, answer) {
      if (answer === 'allow_always') always.add(request.scope)
      else inConversation.add(idOf(request))
    },
  }
}

/** For surfaces without a person: allows the named tools and denies the others. `all` allows every tool. A
 *  call with a reason is denied: it needs a person. */
export function allowTools(names: readonly string[]): Approve {
  return ({ name, reason }) =>
    reason === null && (names.includes(name) || names.includes('all')) ? 'allow' : 'deny'
}
