import type {
  AgentContext,
  PermissionOption,
  RequestPermissionRequest,
  ToolCallContent,
  ToolCallLocation,
} from '@agentclientprotocol/sdk/unstable'
import { type ApprovalMemory, type Approve, approvalMemory } from '../../agent/approval/approval.ts'
import type { ApprovalAnswer, ApprovalRequest } from '../../core/approval.ts'
import { unlessAborted } from '../../core/wait.ts'
import { allowsByMode, type SessionMode } from './session-settings.ts'

export interface PermissionContext {
  readonly sessionId: string
  readonly client: Pick<AgentContext, 'request'>
  mode(): SessionMode
  /** Resolves when the client has received the call: a request for an unknown call would confuse it. */
  shown(callId: string): Promise<void>
}

/** Asks the person in the editor. Throws in the mode that changes nothing. */
export function permissionRequests({ sessionId, client, mode, shown }: PermissionContext): Approve {
  return async (request, signal) => {
    if (mode() === 'read') throw new Error('the session is in the mode Read only, which changes nothing')
    await unlessAborted(shown(request.callId), signal)
    const params: RequestPermissionRequest = {
      sessionId,
      toolCall: { ...callOf(request), status: 'pending' },
      options: optionsFor(request),
    }
    // A cancelled prompt needs no answer: the next one must not wait for it.
    const calledOff = { cancellationSignal: signal, stopWaitingOnCancel: true }
    const { outcome } = await client.request('session/request_permission', params, calledOff)
    return outcome.outcome === 'selected' ? (answers[outcome.optionId] ?? 'deny') : 'deny'
  }
}

/** The answers of a session, and what its mode allows without asking. */
export function sessionApprovals(mode: () => SessionMode): ApprovalMemory {
  const answered = approvalMemory()
  return {
    allows: request => allowsByMode(mode(), request) || answered.allows(request),
    remember: answered.remember,
  }
}

/** A call that needs an approval, as updates and requests show it. */
export function callOf({ callId, title, name, kind, input, preview }: ApprovalRequest) {
  const content: ToolCallContent[] =
    preview?.type === 'diff'
      ? [{ type: 'diff', path: preview.path, oldText: preview.oldText, newText: preview.newText }]
      : []
  const locations: ToolCallLocation[] = preview?.type === 'diff' ? [{ path: preview.path }] : []
  return { toolCallId: callId, title, name, kind, rawInput: input, content, locations }
}

const answers: Readonly<Record<string, ApprovalAnswer>> = {
  allow_once: 'allow',
  allow_always: 'allow_in_conversation',
  reject_once: 'deny',
}

function optionsFor({ name, scope }: ApprovalRequest): PermissionOption[] {
  const what = scope === name ? name : 'exactly this'
  return [
    { optionId: 'allow_once', kind: 'allow_once', name: 'Allow' },
    { optionId: 'allow_always', kind: 'allow_always', name: `Allow ${what} in this session` },
    { optionId: 'reject_once', kind: 'reject_once', name: 'Reject' },
  ]
}
