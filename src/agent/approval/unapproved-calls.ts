import { isCall, isResult } from '../../context/view/pairs.ts'
import type { ApprovalKeeper, StoredApproval } from '../../core/approval.ts'
import type { ToolCallBlock } from '../../core/block.ts'
import { NotFoundError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import { approvalIdOf } from '../../recorder/approval-request.ts'
import { localMessage } from '../history/local-message.ts'

const notRun = 'This call was not run: it needed an approval, and the person wrote the next message instead.'

/** Adds results for calls that waited for an approval when the person wrote the next message, so that the
 *  model knows that they were not run. They are part of this context only and are not stored. */
export async function withUnapprovedResults(
  path: readonly Message[],
  store: Pick<ApprovalKeeper, 'getApproval'> | null,
  { isLeft = isDeniedOrWithdrawn, metadata }: UnapprovedOptions = {},
): Promise<readonly Message[]> {
  if (!store) return path
  const answered = new Set(path.flatMap(({ content }) => content.filter(isResult).map(one => one.callId)))
  const added = new Map<Message, Message>()
  for (const message of path) {
    if (message.role !== 'assistant') continue
    const open = message.content.filter(isCall).filter(({ callId }) => !answered.has(callId))
    const content = []
    for (const call of open) {
      const approval = await approvalOf(store, message, call)
      if (approval !== null && isLeft(approval)) content.push(resultOf(call, metadata))
    }
    if (content.length > 0) added.set(message, localMessage({ role: 'tool_result', content }, message, null))
  }
  if (added.size === 0) return path
  return path.flatMap(message => [message, added.get(message) ?? []].flat())
}

/** Which calls get a result, and the metadata of these results. */
interface UnapprovedOptions {
  /** Default: denied and withdrawn ones. */
  readonly isLeft?: (approval: StoredApproval) => boolean
  readonly metadata?: JsonObject
}

function isDeniedOrWithdrawn({ status, answer }: StoredApproval): boolean {
  return status === 'withdrawn' || answer === 'deny'
}

function resultOf({ callId, name }: ToolCallBlock, metadata: JsonObject | undefined) {
  const facts = { type: 'tool_result', callId, name, output: notRun, isError: true } as const
  return { ...facts, ...(metadata && { metadata }) }
}

/** The stored request of a call; null if there is none. */
export async function approvalOf(
  store: Pick<ApprovalKeeper, 'getApproval'>,
  { id, conversationId }: Message,
  { callId }: ToolCallBlock,
): Promise<StoredApproval | null> {
  try {
    return await store.getApproval(conversationId, approvalIdOf(id, callId))
  } catch (error) {
    if (error instanceof NotFoundError) return null
    throw error
  }
}
