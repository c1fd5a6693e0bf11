import {
  type ApprovalAnswer,
  type ApprovalKeeper,
  type ApprovalRequest,
  answerNames,
  type StoredApproval,
} from '../../core/approval.ts'
import { errorText } from '../../core/error-text.ts'
import { ExpiredError, NotFoundError } from '../../core/errors.ts'
import type { NewEvent } from '../../core/event.ts'
import { createSerialQueue, unlessAborted } from '../../core/wait.ts'
import { approvalIdOf } from '../../recorder/approval-request.ts'
import type { ApprovalMemory, Approve } from './approval.ts'

/** The decision about a call. */
export interface Decision {
  /** Null if there is none yet: the request is stored, and any process can answer it. */
  readonly answer: ApprovalAnswer | null
  /** False if an earlier answer or a missing person decided. */
  readonly wasAsked: boolean
  /** The answer is stored. */
  readonly isStored: boolean
  /** Why a denied call does not run, in a text for the model. */
  readonly refusal: string | null
}

/** How the turn of a call takes part in a decision. */
export interface DecisionHooks {
  /** A person is about to be asked. */
  onAsk(): void
  /** Stores the request. */
  keep(): Promise<void>
  /** Whether the turn can end and be resumed later. A subagent cannot: its caller waits for it. */
  readonly canWait: boolean
}

/** Asks for approvals, one at a time, and remembers answers that hold for longer. */
export interface Approvals {
  /** True if `approve` exists: then every call of a tool that is not read-only is asked for. */
  readonly canAsk: boolean
  /** Decides about a call. Throws the signal's reason if it is aborted first. */
  decide(request: ApprovalRequest, signal: AbortSignal, hooks: DecisionHooks): Promise<Decision>
}

/** The store of requests and answers. */
export type ApprovalStore = Pick<ApprovalKeeper, 'getApproval' | 'answerApproval'>

/** The result of a denied call, so that the model does not simply retry. */
const notAllowed = 'The person was asked and did not allow this call. Ask what to do instead.'
const noPerson = 'This call needs an approval, and no person can be asked here. Do without it.'

const allowedBefore: Decision = { answer: 'allow', wasAsked: false, isStored: false, refusal: null }
const waits: Decision = { answer: null, wasAsked: false, isStored: true, refusal: null }
const nobodyThere: Decision = { answer: 'deny', wasAsked: false, isStored: false, refusal: noPerson }

export function createApprovals(
  approve: Approve | undefined,
  memory: ApprovalMemory,
  store: ApprovalStore | null,
): Approvals {
  const oneByOne = createSerialQueue()

  async function decideNow(
    request: ApprovalRequest,
    signal: AbortSignal,
    hooks: DecisionHooks,
  ): Promise<Decision> {
    signal.throwIfAborted()
    const known = await storedRequest(store, request)
    if (known?.status === 'answered') return decisionOf(known, request, memory)
    if (await memory.allows(request)) return allowedBefore
    if (!approve && !hooks.canWait) return nobodyThere
    if (store && known === null) await hooks.keep()
    const asked = approve ? await answerTo(approve, request, signal, hooks) : 'later'
    if (asked === 'later') return later(request, hooks)
    return settle(request, asked)
  }

  /** Stores an answer. If another process was faster, its answer counts. */
  async function settle(request: ApprovalRequest, decision: Decision & { readonly answer: ApprovalAnswer }) {
    const { answer, refusal } = decision
    try {
      const id = idOf(request)
      if (!store || id === null) return decision
      const comment = refusal === notAllowed ? null : refusal
      await store.answerApproval(request.conversationId!, id, { answer, comment })
      return { ...decision, isStored: true }
    } catch (error) {
      const stored = error instanceof ExpiredError ? await storedRequest(store, request) : null
      // While storage fails, the event of the caller is queued.
      return stored?.status === 'answered' ? decisionOf(stored, request, memory) : decision
    }
  }

  async function answerTo(
    ask: Approve,
    request: ApprovalRequest,
    signal: AbortSignal,
    { onAsk }: DecisionHooks,
  ): Promise<(Decision & { readonly answer: ApprovalAnswer }) | 'later'> {
    onAsk()
    try {
      const answer = await unlessAborted(Promise.resolve(ask(request, signal)), signal)
      if (answer === 'later') return answer
      if (answer === 'allow_in_conversation' || answer === 'allow_always')
        await memory.remember(request, answer)
      const refusal = answer === 'deny' ? notAllowed : null
      return { answer, wasAsked: true, isStored: false, refusal }
    } catch (error) {
      signal.throwIfAborted()
      const refusal = `The approval of this call failed, so it was not run: ${errorText(error)}`
      return { answer: 'deny', wasAsked: true, isStored: false, refusal }
    }
  }

  async function later(request: ApprovalRequest, { canWait }: DecisionHooks): Promise<Decision> {
    if (!canWait) return nobodyThere
    const stored = await storedRequest(store, request)
    if (stored?.status === 'answered') return decisionOf(stored, request, memory)
    return stored === null ? nobodyThere : waits
  }

  return {
    canAsk: approve !== undefined,
    decide(request, signal, hooks) {
      // One request at a time: an answer for longer than one call also answers those that wait.
      const decision = oneByOne(() => decideNow(request, signal, hooks))
      return unlessAborted(decision, signal)
    },
  }
}

function idOf({ messageId, callId }: ApprovalRequest): string | null {
  return messageId === null ? null : approvalIdOf(messageId, callId)
}

/** The stored request. Null if there is none, or if it cannot be read: an outage must not stop a turn. */
async function storedRequest(
  store: ApprovalStore | null,
  request: ApprovalRequest,
): Promise<StoredApproval | null> {
  const id = idOf(request)
  if (!store || id === null) return null
  try {
    return await store.getApproval(request.conversationId!, id)
  } catch (error) {
    if (error instanceof NotFoundError || isOutage(error)) return null
    throw error
  }
}

function isOutage(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'unavailable'
}

/** What a stored answer means for the call. */
async function decisionOf(
  { answer, comment }: StoredApproval,
  request: ApprovalRequest,
  memory: ApprovalMemory,
): Promise<Decision> {
  if (answer === 'allow_in_conversation' || answer === 'allow_always') await memory.remember(request, answer)
  const said = comment === null ? notAllowed : `The person did not allow this call: ${comment}`
  return { answer, wasAsked: false, isStored: true, refusal: answer === 'deny' ? said : null }
}

/** In the form that is also stored for other programs' agents. */
export function permissionEvent(request: ApprovalRequest, answer: ApprovalAnswer): NewEvent {
  const { callId, title, name, kind, input, reason } = request
  const toolCall = { toolCallId: callId, title, name, kind, rawInput: input }
  return {
    type: 'permission',
    data: { toolCall, reason, answer: { outcome: 'selected', optionId: answerNames[answer] } },
  }
}
