import {
  type ApprovalAnswer,
  type ApprovalRequest,
  answerNames,
  type ListApprovals,
  type NewApprovalAnswer,
  type StoredApproval,
} from '../../core/approval.ts'
import { CorruptError, ExpiredError, NotFoundError } from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import { all, first, type Program, run } from '../engine/engine.ts'
import { dataOfEvent, timeOfEvent } from '../engine/row-to-value.ts'
import type { Conv, EventRow } from '../engine/rows.ts'
import { convOf, lockLiving } from './lookup.ts'

/** Most requests that a list considers, the newest ones. */
const mostRequests = 1_000

/** A request is an event `approval_requested`, its answer an event `permission` with the same `approval`.
 *  Whether a request without an answer is pending follows from its turn. */
type RequestData = Omit<ApprovalRequest, 'conversationId' | 'messageId' | 'callId'> & {
  readonly approval: string
  readonly call: string
  readonly message: MessageId
  readonly branch: string
}

interface AnswerData {
  readonly approval?: string
  readonly answer?: { readonly optionId: string }
  readonly by?: string | null
  readonly comment?: string | null
}

export function* listApprovals({
  conversationId,
  status = 'pending',
}: ListApprovals): Program<readonly StoredApproval[]> {
  const found: StoredApproval[] = []
  for (const requests of yield* requestsIn(conversationId)) {
    try {
      found.push(...(yield* approvalsIn(requests)))
    } catch (error) {
      // The requests of other conversations can be answered. `verify` reports the damage.
      if (!(error instanceof CorruptError) || conversationId !== undefined) throw error
    }
  }
  return found
    .filter(one => status === 'any' || one.status === status)
    .sort((a, b) => b.askedAt.getTime() - a.askedAt.getTime())
}

/** Those of the requests whose ids are asked for, as they are now. */
function* approvalsIn(
  [id, conv, requests]: ConversationRequests,
  isAsked: (approval: string) => boolean = () => true,
): Program<readonly StoredApproval[]> {
  const found: StoredApproval[] = []
  const answers = yield* answersIn(conv)
  const seen = new Set<string>()
  for (const request of requests) {
    const data = dataOf(request)
    if (data === null || !isAsked(data.approval) || seen.has(data.approval)) continue
    seen.add(data.approval)
    found.push(yield* approvalOf(id, conv, request, data, answers.get(data.approval)))
  }
  return found
}

export function* getApproval(id: ConversationId, approval: string): Program<StoredApproval> {
  const conv = yield* convOf(id)
  return yield* needApproval(id, conv, approval)
}

/** Under the lock of the conversation, so of several callers one finds the request pending. */
export function* answerApproval(
  id: ConversationId,
  approval: string,
  { answer, by = null, comment = null }: NewApprovalAnswer,
  now: number,
): Program<StoredApproval> {
  const { conv, next_event: n } = yield* lockLiving(id)
  const found = yield* needApproval(id, conv, approval)
  if (found.status === 'answered') throw new ExpiredError(answeredText(found))
  if (found.status === 'withdrawn')
    throw new ExpiredError('the conversation has continued without the call: it cannot be approved any more')
  const { callId, title, name, kind, input, reason } = found
  const data = {
    approval,
    toolCall: { toolCallId: callId, title, name, kind, rawInput: input },
    reason,
    answer: { outcome: 'selected', optionId: answerNames[answer] },
    by,
    comment,
  }
  yield* run('insertEvent', { conv, n, type: 'permission', at: now, data: JSON.stringify(data) })
  yield* run('setNextEvent', { conv, next_event: n + 1 })
  return { ...found, status: 'answered', answer, answeredBy: by, comment, answeredAt: new Date(now) }
}

/** The requests with these ids, as they are now. */
export function* approvalsNamed(
  id: ConversationId,
  conv: Conv,
  ids: ReadonlyMap<string, unknown>,
): Program<readonly StoredApproval[]> {
  if (ids.size === 0) return []
  return yield* approvalsIn([id, conv, yield* requestsOf(conv)], approval => ids.has(approval))
}

function answeredText({ answer, answeredBy }: StoredApproval): string {
  const who = answeredBy === null ? '' : ` by ${answeredBy}`
  return `the approval was ${answer === 'deny' ? 'denied' : 'given'} before${who}`
}

function* needApproval(id: ConversationId, conv: Conv, approval: string): Program<StoredApproval> {
  const [found] = yield* approvalsNamed(id, conv, new Map([[approval, 0]]))
  if (!found) throw new NotFoundError('approval', approval)
  return found
}

type ConversationRequests = readonly [id: ConversationId, conv: Conv, requests: readonly EventRow[]]

/** The newest requests, by conversation. */
function* requestsIn(id: ConversationId | undefined): Program<readonly ConversationRequests[]> {
  if (id !== undefined) {
    const conv = yield* convOf(id)
    return [[id, conv, yield* requestsOf(conv)]]
  }
  const byConversation = new Map<string, [ConversationId, Conv, EventRow[]]>()
  for (const row of yield* all('approvalRequests', { limit: mostRequests })) {
    const known = byConversation.get(row.conversation_id)
    if (known) known[2].push(row)
    else byConversation.set(row.conversation_id, [row.conversation_id as ConversationId, row.conv, [row]])
  }
  return [...byConversation.values()]
}

function requestsOf(conv: Conv): Program<readonly EventRow[]> {
  return all('approvalRequestsOf', { conv, limit: mostRequests })
}

/** The first answer to each request. */
function* answersIn(conv: Conv): Program<ReadonlyMap<string, EventRow>> {
  const answers = new Map<string, EventRow>()
  for (const row of yield* all('approvalAnswersOf', { conv })) {
    const { approval } = dataOfEvent<Partial<AnswerData>>(row)
    if (approval !== undefined && !answers.has(approval)) answers.set(approval, row)
  }
  return answers
}

/** Null for a request whose words were erased, and for an event without the ids. */
function dataOf(row: EventRow): RequestData | null {
  const data = dataOfEvent<RequestData>(row)
  const ids = [data.approval, data.call, data.message, data.branch, data.turn]
  return ids.every(id => typeof id === 'string') ? data : null
}

function* approvalOf(
  conversationId: ConversationId,
  conv: Conv,
  asking: EventRow,
  { approval, call, message, branch, ...request }: RequestData,
  answered: EventRow | undefined,
): Program<StoredApproval> {
  const facts = { ...request, id: approval, callId: call, conversationId, messageId: message }
  const asked = { ...facts, askedAt: timeOfEvent(asking) }
  if (answered === undefined) {
    const status = (yield* isWaiting(conv, branch, request.turn)) ? 'pending' : 'withdrawn'
    return { ...asked, status, answer: null, answeredBy: null, comment: null, answeredAt: null }
  }
  const { answer, by = null, comment = null } = dataOfEvent<AnswerData>(answered)
  const answeredAt = timeOfEvent(answered)
  return { ...asked, status: 'answered', answer: answerOf(answer), answeredBy: by, comment, answeredAt }
}

/** Anything but a known answer denies. */
function answerOf(answer: AnswerData['answer'] | undefined): ApprovalAnswer {
  const names = Object.entries(answerNames) as [ApprovalAnswer, string][]
  return names.find(([, name]) => name === answer?.optionId)?.[0] ?? 'deny'
}

/** Whether the turn of a request can still run its calls: it is the last one of its branch, and has not come
 *  to its end. */
function* isWaiting(conv: Conv, name: string, turn: string): Program<boolean> {
  const branch = yield* first('branch', { conv, name })
  if (!branch) return false
  const last = yield* first('turnEndingAt', { conv, name, seq: branch.head_seq })
  return last?.key === turn && last.status !== 'complete'
}
