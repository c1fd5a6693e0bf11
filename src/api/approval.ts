import type { StoredApproval } from '../core/approval.ts'
import type { answeredApprovalSchema, approvalSchema, approvalsSchema, JsonOf } from './schema/index.ts'

/** A request for an approval as JSON. */
export type ApprovalJson = JsonOf<typeof approvalSchema>

/** A list of approvals as JSON. */
export type ApprovalsJson = JsonOf<typeof approvalsSchema>

/** The result of an answer as JSON. */
export type AnsweredApprovalJson = JsonOf<typeof answeredApprovalSchema>

/** Maps a request for an approval to JSON. */
export function approvalJson(one: StoredApproval): ApprovalJson {
  return {
    id: one.id,
    conversation: one.conversationId,
    turn: one.turn,
    message: one.messageId,
    call_id: one.callId,
    name: one.name,
    input: one.input,
    kind: one.kind,
    title: one.title,
    preview: one.preview,
    reason: one.reason,
    status: one.status,
    answer: one.answer,
    answered_by: one.answeredBy,
    comment: one.comment,
    asked_at: one.askedAt.toISOString(),
    answered_at: one.answeredAt?.toISOString() ?? null,
  }
}
