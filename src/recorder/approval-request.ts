import { createHash } from 'node:crypto'
import type { ApprovalRequest } from '../core/approval.ts'
import type { NewEvent } from '../core/event.ts'
import type { MessageId } from '../core/ids.ts'

/** The id of the request for a call. It follows from the message and the call, so a turn that asks again
 *  finds the earlier request. */
export function approvalIdOf(messageId: MessageId, callId: string): string {
  const named = JSON.stringify([messageId, callId])
  return createHash('sha256').update(named).digest('hex').slice(0, 32)
}

/** The event that stores a request. Null if its message is not stored: then no process could resume its
 *  turn. */
export function approvalRequestEvent(request: ApprovalRequest, branch: string): NewEvent | null {
  const { callId, messageId, conversationId: _, ...rest } = request
  if (messageId === null) return null
  const ids = { approval: approvalIdOf(messageId, callId), call: callId, message: messageId, branch }
  return { type: 'approval_requested', data: { ...ids, ...rest } }
}
