import type { ApprovalAnswer, ApprovalRequest, CallPreview } from '../../core/approval.ts'
import { checkList } from '../../core/check.ts'

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

/** `later`: no answer yet. The request stays in the store, and the turn ends as interrupted, with the stop
 *  `approval`. Any process can answer the request with `store.answerApproval`, and then resume the turn. */
export type ApprovalDecision = ApprovalAnswer | 'later'

/** Decides whether a call may run. It is asked before the start of the call is stored, one request of an
 *  agent at a time. An error denies the call. The signal is aborted with the run. */
export type Approve = (
  request: ApprovalRequest,
  signal: AbortSignal,
) => ApprovalDecision | Promise<ApprovalDecision>

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

/** For surfaces without a person: allows the named tools and denies the others, or leaves them for later.
 *  `all` allows every tool. A call with a reason is not allowed by name: it needs a person. */
export function allowTools(names: readonly string[], otherwise: 'deny' | 'later' = 'deny'): Approve {
  checkList(names, 'names', 'a list of names of tools')
  return ({ name, reason }) =>
    reason === null && (names.includes(name) || names.includes('all')) ? 'allow' : otherwise
}
