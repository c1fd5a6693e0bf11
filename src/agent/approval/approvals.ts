import { errorText } from '../../core/error-text.ts'
import type { NewEvent } from '../../core/event.ts'
import { createSerialQueue, unlessAborted } from '../../core/wait.ts'
import type { ApprovalAnswer, ApprovalMemory, ApprovalRequest, Approve } from './approval.ts'

/** The decision about a call. */
export interface Decision {
  readonly answer: ApprovalAnswer
  /** False if an earlier answer or a missing person decided. */
  readonly wasAsked: boolean
  /** Why a denied call does not run, in a text for the model. */
  readonly refusal: string | null
}

/** Asks for approvals, one at a time, and remembers answers that hold for longer. */
export interface Approvals {
  /** True if `approve` exists: then every call of a tool that is not read-only is asked for. */
  readonly canAsk: boolean
  /** Decides about a call. Throws the signal's reason if it is aborted first. */
  decide(request: ApprovalRequest, signal: AbortSignal, onAsk: () => void): Promise<Decision>
}

/** The result of a denied call, so that the model does not simply retry. */
const notAllowed = 'The person was asked and did not allow this call. Ask what to do instead.'
const noPerson = 'This call needs an approval, and no person can be asked here. Do without it.'

export function createApprovals(approve: Approve | undefined, memory: ApprovalMemory): Approvals {
  const oneByOne = createSerialQueue()

  async function answerTo(request: ApprovalRequest, signal: AbortSignal): Promise<Decision> {
    try {
      const answer = await unlessAborted(Promise.resolve(approve!(request, signal)), signal)
      if (answer === 'allow_in_conversation' || answer === 'allow_always')
        await memory.remember(request, answer)
      return { answer, wasAsked: true, refusal: answer === 'deny' ? notAllowed : null }
    } catch (error) {
      signal.throwIfAborted()
      const refusal = `The approval of this call failed, so it was not run: ${errorText(error)}`
      return { answer: 'deny', wasAsked: true, refusal }
    }
  }

  return {
    canAsk: approve !== undefined,
    async decide(request, signal, onAsk) {
      if (!approve) return { answer: 'deny', wasAsked: false, refusal: noPerson }
      // One request at a time: an answer for longer than one call also answers those that wait.
      const decision = oneByOne(async (): Promise<Decision> => {
        signal.throwIfAborted()
        if (await memory.allows(request)) return { answer: 'allow', wasAsked: false, refusal: null }
        onAsk()
        return answerTo(request, signal)
      })
      return unlessAborted(decision, signal)
    },
  }
}

/** The answers, as events name them. */
export const answerNames: Readonly<Record<ApprovalAnswer, string>> = {
  allow: 'allow_once',
  allow_in_conversation: 'allow_in_conversation',
  allow_always: 'allow_always',
  deny: 'reject_once',
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
