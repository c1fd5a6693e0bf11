import { startedCalls } from '../../agent/interruption.ts'
import type { ApprovalKeeper, StoredApproval } from '../../core/approval.ts'
import { asBlocks } from '../../core/block.ts'
import type { BranchRef } from '../../core/branch.ts'
import { BusyError, ConflictError, ExpiredError, UnavailableError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { NewMessage } from '../../core/message.ts'
import { deniedText } from '../../models/tool-result-block.ts'
import type { RecordStore, TurnRecording } from '../../recorder/recording.ts'
import { findOpenCall, type OpenCall } from './find-position.ts'

/** The ports of a store that `recordTo` needs. */
export type RecordToStore = RecordStore & ApprovalKeeper

/** An approved call that this process may run: the turn of its answer is held here. */
export interface ClaimedCall {
  readonly turn: TurnRecording
  readonly call: OpenCall
}

/** Checks the stored request of a call before its tool runs. A pending request is answered: the application
 *  has approved the call itself, in the messages that it sent. Returns null if no request is stored. Throws
 *  an error for the model if a person has denied the call, and ExpiredError if the conversation has continued
 *  without the call. */
export async function allowedRequest(
  store: RecordToStore,
  conversationId: ConversationId,
  callId: string,
): Promise<StoredApproval | null> {
  const request = await requestOf(store, conversationId, callId)
  if (request?.status !== 'pending') return checkAllowed(request)
  try {
    return await store.answerApproval(conversationId, request.id, { answer: 'allow' })
  } catch (error) {
    if (!(error instanceof ExpiredError)) throw error
    return checkAllowed(await requestOf(store, conversationId, callId))
  }
}

function checkAllowed(request: StoredApproval | null): StoredApproval | null {
  if (request === null) return null
  if (request.status !== 'answered')
    throw new ExpiredError('the conversation has continued without the call: it cannot run any more')
  if (request.answer !== 'deny') return request
  const { comment } = request
  throw new Error(`The person did not allow this call${comment === null ? '.' : `: ${comment}`}`)
}

/** The newest request of a call. Ids of calls come from the provider and may recur. */
async function requestOf(
  store: ApprovalKeeper,
  conversationId: ConversationId,
  callId: string,
): Promise<StoredApproval | null> {
  const all = await store.listApprovals({ conversationId, status: 'any' })
  return all.find(request => request.callId === callId) ?? null
}

/** Holds the turn of an approved call, so that of several processes one runs it, and at most once. `begin`
 *  reopens the turn. Throws BusyError if another process holds it, and ExpiredError if the call has run. */
export async function claimCall(
  store: RecordToStore,
  { conversationId, callId, messageId, turn: key }: StoredApproval,
  begin: (branch: BranchRef, call: OpenCall) => Promise<TurnRecording>,
): Promise<ClaimedCall> {
  const asked = await store.findTurn(conversationId, key)
  const branch = asked && { conversationId, name: asked.branch }
  const call = branch && (await findOpenCall(store, branch, callId))
  if (!call || call.message.id !== messageId) throw new ExpiredError(hasRun)
  const turn = await begin(branch, call).catch((error: unknown) => {
    if (error instanceof ConflictError) throw new ExpiredError(hasRun)
    throw error
  })
  try {
    if (!turn.reopened) throw new UnavailableError('the approved call did not run: its turn cannot be stored')
    if ((await startedCalls(call.message, store)).has(callId))
      throw new ExpiredError('the call was started before, and its outcome is unknown: it does not run again')
    return { turn, call }
  } catch (error) {
    await turn.end('interrupted')
    throw error
  }
}

const hasRun = 'the call has run in another process: read the messages again'

/** Whether an error means that this process must not continue with the result of a call: another one does. */
export function isLostClaim(error: unknown): boolean {
  return error instanceof BusyError || error instanceof ExpiredError || error instanceof UnavailableError
}

/** Stores the denials that an application has sent in its own messages. */
export async function storeDenials(
  store: RecordToStore,
  conversationId: ConversationId,
  messages: readonly NewMessage[],
): Promise<void> {
  const last = messages.at(-1)
  if (last === undefined || !isDenied(last)) return
  const pending = await store.listApprovals({ conversationId })
  for (const { callId, reason } of deniedIn(last)) {
    const request = pending.find(one => one.callId === callId)
    if (!request) continue
    // Another process may have answered meanwhile: its answer stays.
    await store
      .answerApproval(conversationId, request.id, { answer: 'deny', comment: reason })
      .catch(error => {
        if (!(error instanceof ExpiredError)) throw error
      })
  }
}

/** Whether a message contains the result of a call that was denied. */
export function isDenied(message: NewMessage): boolean {
  return deniedIn(message).length > 0
}

function deniedIn({ role, content }: NewMessage) {
  if (role !== 'tool_result') return []
  return asBlocks(content).flatMap(block => {
    if (block.type !== 'tool_result') return []
    const { callId, output, metadata } = block
    if (metadata?.output !== 'execution-denied') return []
    return [{ callId: String(callId), reason: output === deniedText ? null : String(output) }]
  })
}
