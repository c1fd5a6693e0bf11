import type { AnsweredApprovalJson, ApprovalJson, ApprovalsJson } from '../api/approval.ts'
import type { AnswerApprovalRequest, ListApprovalsRequest, RequestOptions } from './requests.ts'
import type { SendRequest } from './send.ts'

/** The requests for approvals: calls of tools that a person has to allow first. */
export interface ApprovalClient {
  /** The calls of all conversations that wait for an approval, the newest first. */
  listAllApprovals(query?: ListApprovalsRequest, options?: RequestOptions): Promise<ApprovalsJson>
  /** The calls of a conversation that wait for an approval, the newest first. */
  listApprovals(id: string, query?: ListApprovalsRequest, options?: RequestOptions): Promise<ApprovalsJson>
  /** An approval, answered or not. */
  getApproval(id: string, approval: string, options?: RequestOptions): Promise<ApprovalJson>
  /** Answers an approval, and continues its turn. Of several answers, one succeeds; the others get a
   *  ServiceError with the code `expired`. */
  answerApproval(
    id: string,
    approval: string,
    answer: AnswerApprovalRequest,
    options?: RequestOptions,
  ): Promise<AnsweredApprovalJson>
}

/** The methods for approvals over a function of the client. */
export function approvalMethods(get: <T>(path: string, request?: SendRequest) => Promise<T>): ApprovalClient {
  const inConversation = (id: string) => `/conversations/${encodeURIComponent(id)}/approvals`
  const one = (id: string, approval: string) => `${inConversation(id)}/${encodeURIComponent(approval)}`
  return {
    listAllApprovals: (query = {}, options) => get('/approvals', { query: { ...query }, ...options }),
    listApprovals: (id, query = {}, options) => get(inConversation(id), { query: { ...query }, ...options }),
    getApproval: (id, approval, options) => get(one(id, approval), options),
    // Not repeated: a second answer would be refused.
    answerApproval: (id, approval, answer, options) =>
      get(one(id, approval), { method: 'POST', body: answer, ...options }),
  }
}
